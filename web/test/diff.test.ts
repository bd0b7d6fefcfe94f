import { expect, test } from "vitest";
import { inlineRows, pairRows, sides } from "../src/nodes/diffRows";

const hunk = { old_start: 41, new_start: 41, lines: [" def f():", "-    return 2 ** n", "+    return min(2 ** n, 30)", "+", " end"] };

test("line numbers of both versions", () => {
  expect(inlineRows(hunk).map(({ sign, old, new: after }) => [sign, old, after])).toEqual([
    [" ", 41, 41],
    ["-", 42, null],
    ["+", null, 42],
    ["+", null, 43],
    [" ", 43, 44],
  ]);
});

test("removed lines are paired with the added ones", () => {
  expect(pairRows(hunk).map(({ left, right }) => [left?.number, right?.number])).toEqual([
    [41, 41],
    [42, 42],
    [undefined, 43],
    [43, 44],
  ]);
});

test("the changed part of a line is found", () => {
  const [row] = pairRows({ old_start: 1, new_start: 1, lines: ["-const a = 1;", "+const a = 20;"] });
  expect(row?.left?.changed).toEqual([10, 11]);
  expect(row?.right?.changed).toEqual([10, 12]);
});

test("more removed than added lines, in one column", () => {
  const rows = inlineRows({ old_start: 1, new_start: 1, lines: ["-a", "-b", "-c", "+d"] });
  expect(rows.map(({ sign, text }) => sign + text)).toEqual(["-a", "-b", "-c", "+d"]);
});

test("each row knows its line in the old or the new text, of which the colours are found", () => {
  const [old, after] = sides({ ...hunk, lines: [...hunk.lines, "\\ No newline at end of file"] }).map((text) => text.split("\n"));
  for (const { sign, at, text } of inlineRows(hunk)) expect((sign === "-" ? old : after)?.[at]).toBe(text);
  expect([old?.length, after?.length]).toEqual([3, 4]);
});
