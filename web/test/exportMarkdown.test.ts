import { expect, test } from "vitest";
import fixture from "../../tests/fixtures/search.json";
import { itemMarkdown } from "../src/markdown/exportMarkdown";
import shared from "../../tests/fixtures/markdown.json";
import { guarded, inline, LANGUAGES } from "../src/markdown/markdownText";
import type { TimelineItem } from "../src/data/values";

const cases = shared as unknown as Record<"guarded" | "inline", [string, string][]>;
const items = fixture.items as unknown as TimelineItem[];
const markdown = (key: string) => itemMarkdown(items.find((item) => item.key === key) as TimelineItem);

test("prompts and commands are quoted, without their collapsed parts", () => {
  expect(markdown("u1")).toBe('> Where is the "Needle"?\n');
  expect(markdown("u17")).toBe("> /rename needlework\n");
});

test("thinking is collapsed, and text stays as it is", () => {
  expect(markdown("m1")).toBe(
    "<details><summary>thinking</summary>\n\nA needle, hm.\n\n</details>\n\nI look for the NEEDLE in the hay.\n",
  );
});

test.each(cases.guarded)("guarded: %j", (text, markdown) => expect(guarded(text)).toBe(markdown));
test.each(cases.inline)("inline: %j", (text, markdown) => expect(inline(text)).toBe(markdown));

test("the names of languages are the same", () => expect([...LANGUAGES].sort()).toEqual((shared.languages as string[][])[0]));

test("long texts take linear time", { timeout: 120_000 }, () => {
  for (const piece of ["`a", "``", "](https://", "[a](", "<a", "&a", "> ", "```\n", "- ```", "a\\`", "https://`"]) {
    const began = performance.now();
    guarded(piece.repeat(50_000));
    expect(performance.now() - began).toBeLessThan(10_000); // 0.2 s on an idle machine; minutes if it were quadratic
  }
});

test("a call is one line, with its result if there is one", () => {
  expect(markdown("m2")).toBe("- **Bash** grep -r needle . → hay.txt: needle (1.2 \\[x\\])\n");
});

test("the output of a command, which is a node, is copied", () => {
  const output = { ...items[0], kind: "output", parts: [{ part: "nodes", title: "", cut: [], nodes: [{ node: "terminal", text: "done", stream: "out" }] }] };
  expect(itemMarkdown(output as unknown as TimelineItem)).toBe("```\ndone\n```\n");
});
