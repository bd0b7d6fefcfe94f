import { expect, test } from "vitest";
import { passages, splitDirections } from "../src/kit/directions";
import { cutTree } from "../src/markdown/markdownTree";

test("a text that changes its direction very often is split, and nothing is lost", () => {
  const text = "\u0627a".repeat(10_000);
  const pieces = splitDirections(text);
  expect(pieces.join("")).toBe(text);
  expect(pieces.length).toBeGreaterThan(30);
  expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThan(1000);
});

test.each(["", "Latin ".repeat(10_000), "\u0645\u0631\u062d\u0628\u0627 ".repeat(200), "\u0645\u0631\u062d\u0628\u0627 world ".repeat(100)])(
  "an ordinary text is one piece: %#",
  (text) => expect(splitDirections(text)).toEqual([text]),
);

test("many texts of one paragraph that change their direction are drawn step by step", () => {
  const tree = Array.from({ length: 100 }, () => "\u05d0a".repeat(200));
  expect(passages(tree[0] as string)).toBe(200);
  const { nodes, whole } = cutTree(tree, 1500);
  expect(whole).toBe(false);
  expect(nodes.length).toBeLessThan(12);
});

test("the class of such a piece has no other use", () => {
  const files = import.meta.glob("../src/**/*.tsx", { query: "?raw", import: "default", eager: true }) as Record<string, string>;
  const users = Object.entries(files).filter(([, text]) => /className="[^"]*\bdirections\b/.test(text));
  expect(users.map(([path]) => path)).toEqual(["../src/kit/PlainText.tsx"]);
});
