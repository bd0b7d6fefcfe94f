import { expect, test } from "vitest";
import { ago, bytes, duration, folder, model, money, plural, short } from "../src/kit/words";

test.each([
  [0, "0"],
  [950, "950"],
  [999.6, "1.0k"],
  [4_234, "4.2k"],
  [41_000, "41k"],
  [999_600, "1.0M"],
  [1_234_567, "1.2M"],
  [2_100_000_000, "2.1G"],
])("%d is %s", (count, words) => expect(short(count)).toBe(words));

test.each([
  [0, "$0"],
  [0.001, "<$0.01"],
  [0.92, "$0.92"],
  [1234.4, "$1,234"],
])("%d dollars are %s", (usd, words) => expect(money(usd)).toBe(words));

test.each([
  [0.12, "0.1 s"],
  [48, "48 s"],
  [59.6, "1 min"],
  [720, "12 min"],
  [3600 * 19 + 240, "19 h 4 min"],
  [86_400 * 3, "3 days"],
])("%d seconds are %s", (seconds, words) => expect(duration(seconds)).toBe(words));

test("sizes, counts, names", () => {
  expect(bytes(42)).toBe("42 B");
  expect(bytes(1_040_000_000)).toBe("1.0 GB");
  expect(plural(1, "turn")).toBe("1 turn");
  expect(plural(2310, "branch", "branches")).toBe("2,310 branches");
  expect(folder("/home/sam/code")).toBe("~/code");
  expect(folder("/homes/sam")).toBe("/homes/sam");
  expect(model("claude-sonnet-4-5-20250929")).toBe("sonnet-4-5");
});

test("how long ago", () => {
  const now = new Date("2026-11-15T12:00:00");
  expect(ago("2026-11-15T11:59:30", now)).toBe("just now");
  expect(ago("2026-11-15T11:58:00", now)).toBe("2 min ago");
  expect(ago("2026-11-14T11:58:00", now)).toBe("yesterday");
  expect(ago("2026-11-03T11:58:00", now)).toBe("3 Nov");
  expect(ago("2025-11-03T11:58:00", now)).toBe("3 Nov 2025");
});
