import { expect, test } from "vitest";
import { Heights } from "../src/kit/heights";

test("offsets and rows agree with plain addition", () => {
  const plain = Array.from({ length: 1000 }, (_, row) => 10 + ((row * 37) % 91));
  const heights = new Heights(1000, 50);
  plain.forEach((height, row) => heights.set(row, height));
  let top = 0;
  for (const [row, height] of plain.entries()) {
    expect(heights.top(row)).toBe(top);
    expect(heights.at(top)).toBe(row);
    expect(heights.at(top + height - 0.5)).toBe(row);
    top += height;
  }
  expect(heights.total).toBe(top);
});

test("beyond the ends are the first and the last row", () => {
  const heights = new Heights(10, 5);
  expect([heights.at(-100), heights.at(0), heights.at(1e9)]).toEqual([0, 0, 9]);
  expect(new Heights(0, 5).total).toBe(0);
});

test("a change is returned, and a row beyond the end is ignored", () => {
  const heights = new Heights(3, 10);
  expect(heights.set(1, 25)).toBe(15);
  expect(heights.set(1, 25)).toBe(0);
  expect(heights.set(7, 25)).toBe(0);
  expect(heights.total).toBe(45);
});

test("resizing keeps the heights", () => {
  const heights = new Heights(3, 10);
  heights.set(2, 40);
  heights.resize(5);
  expect([heights.top(3), heights.total]).toEqual([60, 80]);
  heights.resize(2);
  expect(heights.total).toBe(20);
});
