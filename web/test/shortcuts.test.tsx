// @vitest-environment jsdom
import { cleanup, fireEvent, render } from "@testing-library/react";
import { useLayoutEffect } from "react";
import { afterEach, expect, test } from "vitest";
import { availableActions } from "../src/shell/actions";
import { SHORTCUTS, useShortcuts } from "../src/shell/shortcuts";

afterEach(cleanup);

const NAMES: Record<string, string> = { " ": "Space", Escape: "Esc", "Mod+k": "Ctrl K" };

test.each(SHORTCUTS.map((shortcut) => [shortcut.keys, shortcut] as const))("%s: the list names the keys that work", (keys, { commands }) => {
  for (const [key] of commands) expect(keys.split(/ \/ | or | then /)).toContain(NAMES[key] ?? key);
});

test("a command is carried out by its key and by its name in the palette", () => {
  const done: string[] = [];
  function Page() {
    useShortcuts({ pause: () => done.push("pause"), nextTurn: () => done.push("next"), palette: () => done.push("palette") });
    return <input />;
  }
  const { container } = render(<Page />);
  fireEvent.keyDown(document.body, { key: " " });
  fireEvent.keyDown(document.body, { key: "j" });
  fireEvent.keyDown(document.body, { key: "j", ctrlKey: true });
  fireEvent.keyDown(container.querySelector("input")!, { key: "j" });
  fireEvent.keyDown(container.querySelector("input")!, { key: "K", metaKey: true });
  expect(done).toEqual(["pause", "next", "palette"]);
  expect(availableActions().map(({ name, keys }) => [name, keys])).toEqual([["Pause the replay", "Space"]]);
  availableActions()[0]?.run();
  expect(done.at(-1)).toBe("pause");
});

test("a key works as soon as its page is shown", () => {
  const done: string[] = [];
  function Page() {
    useShortcuts({ nextError: () => done.push("next") });
    useLayoutEffect(() => void dispatchEvent(new KeyboardEvent("keydown", { key: "e" })), []);
    return null;
  }
  render(<Page />);
  expect(done).toEqual(["next"]);
});
