import { expect, test } from "vitest";
import { scale, seriesOf } from "../src/pages/series";
import { summed } from "../src/pages/SessionRow";
import { arranged, fits } from "../src/pages/shelves";
import type { Figures, Listed } from "../src/values";

const figures = (tokens: number, cost: number | null): Figures => ({
  tokens,
  output_tokens: 0,
  cost_usd: cost,
  unconfirmed_responses: 0,
  unpriced_models: cost === null ? ["x"] : [],
});

const session = (title: string, project: string, tokens: number | null): Listed => ({
  key: title,
  id: `id-${title}`,
  title,
  project,
  project_guessed: false,
  git_branch: "main",
  version: null,
  started: null,
  updated: null,
  size: 0,
  captured: false,
  live: false,
  models: ["claude-opus-5-5"],
  turns: null,
  agents: null,
  figures: tokens === null ? null : figures(tokens, tokens / 1000),
});

const all = [session("one", "/a", 10), session("two", "/b", 30), session("three", "/a", null)];

test("every word has to be somewhere", () => {
  expect(fits(all[0] as Listed, "ONE opus")).toBe(true);
  expect(fits(all[0] as Listed, "one sonnet")).toBe(false);
  expect(fits(all[0] as Listed, "")).toBe(true);
});

test("by project, in the order of the newest", () => {
  const rows = arranged(all, "newest").map((row) => ("session" in row ? row.session.title : row.project));
  expect(rows).toEqual(["/a", "one", "three", "/b", "two"]);
});

test("what is not counted yet comes last", () => {
  expect(arranged(all, "tokens").map((row) => "session" in row && row.session.title)).toEqual(["two", "one", "three"]);
});

test("sums say what they leave out", () => {
  expect(summed([])).toBeNull();
  expect(summed([figures(1, 0.5), figures(2, null)])).toMatchObject({ tokens: 3, cost_usd: 0.5, unpriced_models: ["x"] });
});

test("days without anything are columns too, and few names have many rows", () => {
  const rows = [
    { day: "2026-11-01", model: "a", cost_usd: 1 },
    { day: "2026-11-03", model: "b", cost_usd: 3 },
  ];
  const chart = seriesOf(rows, "day", "model", "cost");
  expect(chart.names).toEqual(["b", "a"]);
  expect(chart.columns).toEqual([
    { when: "2026-11-01", values: [0, 1] },
    { when: "2026-11-02", values: [0, 0] },
    { when: "2026-11-03", values: [3, 0] },
  ]);
});

test("beyond six names the rest is one", () => {
  const rows = Array.from({ length: 9 }, (_, at) => ({ day: "2026-11-01", model: `m${at}`, cost_usd: at + 1 }));
  const chart = seriesOf(rows, "day", "model", "cost");
  expect(chart.names).toEqual(["m8", "m7", "m6", "m5", "m4", "others"]);
  expect(chart.totals.at(-1)).toBe(1 + 2 + 3 + 4);
});

test.each([0, 0.003, 0.85, 1, 7, 42, 999_999])("a scale for %d", (highest) => {
  const steps = scale(highest);
  expect(steps.at(-1)).toBeGreaterThanOrEqual(highest);
  expect(steps.length).toBeLessThanOrEqual(6);
});
