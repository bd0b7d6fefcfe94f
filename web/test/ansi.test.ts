import { expect, test } from "vitest";
import shared from "../../tests/fixtures/output.json";
import { ansiLines, stripAnsi } from "../src/kit/ansi";

test.each(shared as [string, string][])("%j shows %j", (output, shown) => {
  expect(ansiLines(output).map((runs) => runs.map((run) => run.text).join("")).join("\n")).toBe(shown);
});

const E = "\u001b";

test("colours and styles continue on the next line", () => {
  expect(ansiLines(`${E}[1;31mred\nstill${E}[0m plain`)).toEqual([
    [{ bold: true, color: 1, text: "red" }],
    [
      { bold: true, color: 1, text: "still" },
      { text: " plain" },
    ],
  ]);
});

test("256 and true colours", () => {
  expect(ansiLines(`${E}[38;5;196ma${E}[38;2;1;2;3mb${E}[38;5;9mc${E}[92md${E}[48;5;22me`)).toEqual([
    [
      { color: "#ff0000", text: "a" },
      { color: "#010203", text: "b" },
      { color: 9, text: "c" },
      { color: 10, text: "d" },
      { color: 10, text: "e" },
    ],
  ]);
});

test("all other sequences are dropped: cursor moves, titles, links", () => {
  const text = `${E}[2J${E}[?25l${E}]0;title\u0007a${E}]8;;https://x${E}\\b${E}(Bc`;
  expect(ansiLines(text)).toEqual([[{ text: "a" }, { text: "b" }, { text: "c" }]]);
  expect(stripAnsi(text)).toBe("abc");
});

test("a carriage return starts the line over", () => {
  expect(ansiLines("10 %\r50 %\r100 %\r\nnext")).toEqual([[{ text: "100 %" }], [{ text: "next" }]]);
});

test("an incomplete sequence and a very long one", () => {
  expect(ansiLines(`a${E}`)).toEqual([[{ text: "a" }]]);
  expect(ansiLines(`a${E}]${"x".repeat(1e6)}`)).toEqual([[{ text: "a" }]]);
});
