// @vitest-environment jsdom
import { render } from "@testing-library/react";
import { expect, test } from "vitest";
import shared from "../../tests/fixtures/markdown.json";
import { Markdown } from "../src/markdown/Markdown";
import { cutTree, markdownTree, type MarkdownNode } from "../src/markdown/markdownTree";
import { setPrinting } from "../src/kit/offThread";
import { splitInvisible } from "../src/kit/PlainText";
import { differentHost } from "../src/kit/SafeLink";

setPrinting(true); // at once, whatever the time

const html = (text: string) => render(<Markdown text={text} />).container.querySelector(".prose")?.innerHTML;

test.each([
  ["# One\n\ntwo *three* **four** ~~five~~ `six`", "<h1>One</h1><p>two <em>three</em> <strong>four</strong> <s>five</s> <code>six</code></p>"],
  ["- one\n- two", "<ul><li>one</li><li>two</li></ul>"],
  ["3. one\n\n4. two", '<ol start="3"><li><p>one</p></li><li><p>two</p></li></ol>'],
  ["> one  \n> two", "<blockquote><p>one<br>two</p></blockquote>"],
  ["- [ ] one\n- [x] two", '<ul class="contains-task-list"><li><span class="task">☐</span> one</li><li><span class="task">☑</span> two</li></ul>'],
  ["README.md and <b>bold</b>", "<p>README.md and &lt;b&gt;bold&lt;/b&gt;</p>"],
])("%j", (text, expected) => expect(html(text)).toBe(expected));

test("a table keeps its alignment", () => {
  expect(html("| a | b |\n|---|--:|\n| 1 | 2 |")).toContain('<td>1</td><td class="right">2</td>');
});

test.each(["", "> ", "- "])("%j before a table: cells that are more than its header has are shown", (before) => {
  const rows = ["| a | b |", "|---|---|", "| 1 | 2 | *three* | 4\\|5 |", "| 6 |"];
  const drawn = html(rows.map((row, n) => (before === "- " && n ? "  " : before) + row).join("\n"));
  expect(drawn).toContain("<th>a</th><th>b</th><th></th><th></th>");
  expect(drawn).toContain("<td>1</td><td>2</td><td><em>three</em></td><td>4|5</td>");
  expect(drawn).toContain("<tr><td>6</td><td></td></tr>");
});

const depth = (nodes: MarkdownNode[]): number =>
  Math.max(0, ...nodes.map((node) => (typeof node === "string" ? 0 : 1 + depth(node.children))));

test.each(["- ", "> ", "1. ", "*a **b ", "["])("%j many times is not nested deeply", (piece) => {
  expect(depth(markdownTree(`${piece.repeat(5000)}x`))).toBeLessThan(250);
});

test("a tree is cut to what can be drawn, and nothing is left out before", () => {
  const tree = markdownTree("a *b* c\n\n".repeat(1000));
  expect(cutTree(tree, 100_000)).toEqual({ nodes: tree, whole: true });
  const { nodes, whole } = cutTree(tree, 60);
  expect(whole).toBe(false);
  expect(nodes.length).toBeGreaterThan(8);
  expect(cutTree(["x".repeat(10_000)], 10).nodes).toEqual(["x".repeat(450)]);
});

test.each([
  ["https://good.example/login", "https://evil.example/", "evil.example"],
  ["good.com", "https://evil.example:8080/", "evil.example:8080"],
  ["www.good.example", "https://evil.example", "evil.example"],
  ["the docs", "https://user@evil.example/", "evil.example"],
  ["https://good.example/a", "https://good.example/b", null],
  ["www.good.com", "https://good.com/", null],
  ["good.com", "https://www.good.com/a", null],
  ["README.md", "https://github.com/a/b", null],
  ["the docs of good.com", "https://evil.example", null],
  ["a@good.com", "mailto:b@evil.example", null],
])("%s to %s", (text, url, host) => expect(differentHost(text, url)).toBe(host));

test("a link whose text names another host says where it leads", () => {
  const { container } = render(<Markdown text="[https://good.example](https://evil.example/x)" />);
  expect(container.querySelector(".link-host")?.textContent).toBe(" → evil.example");
});

test("a long run of combining marks is counted, ordinary ones stay", () => {
  expect(splitInvisible(`e${"\u0301".repeat(50_000)}!`)).toEqual(["e", { code: "U+0301 × 50,000" }, "!"]);
  for (const text of ["e\u0301", "นี้", "Z̑͑̅ạl"]) expect(splitInvisible(text)).toEqual([text]);
});

test.each([
  ["```TypeError: x is undefined\n  at foo\n```", "TypeError: x is undefined\n  at foo\n", ""],
  ["~~~go // first\nx\n~~~", "go // first\nx\n", ""],
  ["```ZEBRA\n```", "ZEBRA\n", ""],
  ["```Python \nx\n```", "x\n", "Python"],
])("what is more than a language on a fence is code: %j", (text, code, language) => {
  expect(markdownTree(text)).toEqual([{ tag: "pre", language, children: [code] }]);
});

const drawn = (node: MarkdownNode): string =>
  typeof node === "string" ? node : `${node.children.map(drawn).join(" ")} ${node.url ?? ""} ${node.language ?? ""}`;
const words = (text: string): string[] => decodeURI(text).match(/\p{L}+/gu) ?? [];

test("every word of a text is drawn", () => {
  const texts = (shared.guarded as [string, string][]).map(([text]) => text).filter((text) => !/[&\ud800-\udfff]/.test(text));
  for (const text of [...texts, '[a](/b "title") ![c](/d "other")', "[e]: /f 'hidden'\n\n[^g]: hidden", "<!-- hidden -->"]) {
    const found = new Set(words(markdownTree(text).map(drawn).join(" ")));
    expect(words(text).filter((word) => !found.has(word)), text).toEqual([]);
  }
});
