import { expect, test } from "vitest";
import shared from "../../tests/fixtures/format.json";
import { ago, duration, folder, inProject, model, money, plural, size, tokens } from "../src/kit/format";

type Cases = Record<"duration" | "size" | "tokens" | "money" | "lower_bound", [number, string][]> & { folder: [string, string][] };

const cases = shared as unknown as Cases;

test.each(cases.duration)("%d seconds are %s", (seconds, text) => expect(duration(seconds)).toBe(text));
test.each(cases.size)("%d bytes are %s", (bytes, text) => expect(size(bytes)).toBe(text));
test.each(cases.tokens)("%d tokens are %s", (count, text) => expect(tokens(count)).toBe(text));
test.each(cases.money)("%d dollars are %s", (usd, text) => expect(money(usd)).toBe(text));

test.each(cases.lower_bound)("at least %d dollars are %s", (usd, text) => expect(money(usd, true)).toBe(text));
test.each(cases.folder)("%s is %s", (path, text) => expect(folder(path)).toBe(text));

test("counts and names", () => {
  expect(plural(1, "turn")).toBe("1 turn");
  expect(plural(2310, "branch", "branches")).toBe("2,310 branches");
  expect(model("claude-sonnet-4-5-20250929")).toBe("sonnet-4-5");
});

test("paths of any system", () => {
  expect(folder("C:\\Users\\sam\\code")).toBe("~\\code");
  expect(inProject("Read C:\\code\\src\\a.py", "C:\\code")).toBe("Read src\\a.py");
  expect(inProject("Read /code/src/a.py", "/code")).toBe("Read src/a.py");
});

test("how long ago", () => {
  const now = new Date("2026-11-15T12:00:00");
  expect(ago("2026-11-15T11:59:30", now)).toBe("just now");
  expect(ago("2026-11-15T11:58:00", now)).toBe("2 min ago");
  expect(ago("2026-11-14T11:58:00", now)).toBe("yesterday");
  expect(ago("2026-11-03T11:58:00", now)).toBe("3 Nov");
  expect(ago("2025-11-03T11:58:00", now)).toBe("3 Nov 2025");
});
