import { expect, test } from "vitest";
import { textAfter, textBefore } from "../src/kit/excerpt";

test("the text before a match begins with a whole word", () => {
  expect(textBefore("the retry waits for ", 40)).toBe("the retry waits for ");
  expect(textBefore("the retry waits for ", 14)).toBe("…waits for ");
  expect(textBefore("x".repeat(90), 30)).toBe(`…${"x".repeat(30)}`);
});

test("the text after a match ends with a whole word", () => {
  expect(textAfter(" was there", 40)).toBe(" was there");
  expect(textAfter(" was there to prev", 18)).toBe(" was there to…");
  expect(textAfter("y".repeat(60), 60)).toBe(`${"y".repeat(60)}…`);
});
