import { describe, expect, test } from "vitest";
import { layOut, nearest, Scale, ticks } from "../src/session/waterfallLayout";
import type { WaterfallSpan } from "../src/data/values";

const HOUR = 3_600_000;
const span = (kind: string, start: number, end: number, more: Partial<WaterfallSpan> = {}): WaterfallSpan => ({
  kind,
  start,
  end,
  turn: 1,
  item: 0,
  name: "x",
  state: "done",
  call: null,
  ...more,
});
const turns = [
  { index: 1, item: 0, start: 0, end: 60_000 },
  { index: 2, item: 5, start: HOUR, end: HOUR + 60_000 },
];

describe("the rows of a timeline", () => {
  test("what runs at the same time is in rows of its own", () => {
    const spans = [span("agent", 0, 50), span("agent", 10, 60), span("agent", 55, 80), span("tool", 0, 5, { state: "failed" })];
    const { rows, agents, failed } = layOut({ turns, spans });
    expect(rows.map(({ label, bars }) => [label, bars.map(({ start }) => start)])).toEqual([
      ["Turns", [0, HOUR]],
      ["Waiting", [80, 60_000]],
      ["Tools", [0]],
      ["Agents", [0, 55]],
      ["", [10]],
    ]);
    expect([agents, failed]).toEqual([3, 1]);
  });

  test("time that two tools share counts once", () => {
    expect(layOut({ turns: [], spans: [span("tool", 0, 4000), span("tool", 1000, 5000)] }).tools).toBe(5);
  });

  test("a thousand agents at once stay readable, and none is lost", () => {
    const { rows } = layOut({ turns: [], spans: Array.from({ length: 1000 }, (_, n) => span("agent", n, 5000)) });
    expect(rows.length).toBe(60);
    expect(rows.reduce((sum, { bars }) => sum + bars.length, 0)).toBe(1000);
  });
});

describe("the scale of a timeline", () => {
  const { rows } = layOut({ turns, spans: [] });

  const length = (spans: WaterfallSpan[], shorten: boolean, during = turns) => new Scale(layOut({ turns: during, spans }).rows, shorten).length;

  test("long waits are short, or as long as they were", () => {
    const work = [span("model", 0, 60_000), span("model", HOUR, HOUR + 60_000)];
    expect(length(work, true)).toBeCloseTo(120_000 * 1.3);
    expect(length(work, false)).toBe(HOUR + 60_000);
  });

  test("a night inside a turn is short, whether a tool waits or nothing is at work", () => {
    const night = [{ index: 1, item: 0, start: 0, end: 20 * HOUR }];
    const idle = [span("model", 0, 60_000), span("tool", 19 * HOUR, 19 * HOUR + 60_000), span("model", 19 * HOUR + 60_000, 20 * HOUR)];
    const { rows } = layOut({ turns: night, spans: idle });
    expect(rows.find(({ label }) => label === "Waiting")?.bars.map(({ kind, start, end }) => [kind, start, end])).toEqual([["idle", 60_000, 19 * HOUR]]);
    expect(length(idle, true, night)).toBeCloseTo(120_000 * 1.3);
    expect(length([span("tool", 0, 20 * HOUR), span("model", 5, 60_000)], true, night)).toBeCloseTo(60_000 * 1.3);
    expect(length([span("tool", 0, HOUR / 3)], true, night)).toBeGreaterThan(HOUR / 3);
  });

  test("a longer wait is drawn longer", () => {
    const spans = [0, 1, 5].map((hours) => span("model", hours * HOUR, hours * HOUR + 600_000));
    const breaks = new Scale(layOut({ turns, spans }).rows, true).stretches.filter(({ shortened }) => shortened);
    expect(breaks.map((one) => one.end - one.start)).toEqual([HOUR - 600_000, 4 * HOUR - 600_000]);
    expect(breaks[1]?.length).toBeGreaterThan(breaks[0]?.length ?? Infinity);
  });

  test("places and times lead to each other, and never backwards", () => {
    for (const shorten of [true, false]) {
      const scale = new Scale(rows, shorten);
      let before = -1;
      for (let place = 0; place <= scale.length; place += scale.length / 200) {
        expect(scale.at(scale.time(place))).toBeCloseTo(place, 3);
        expect(scale.time(place)).toBeGreaterThan(before);
        before = scale.time(place);
      }
    }
  });

  test("times that make no sense break nothing", () => {
    const odd = layOut({ turns: [{ index: 1, item: 0, start: 5, end: 5 }], spans: [span("tool", 9e15, -9e15), span("model", 5, 5)] });
    const scale = new Scale(odd.rows, true);
    expect(scale.length).toBeGreaterThan(0);
    expect(Number.isFinite(scale.at(5)) && Number.isFinite(scale.time(0))).toBe(true);
    expect(new Scale([], true).at(1)).toBe(0);
  });
});

test("the nearest bar of a row", () => {
  const [row] = layOut({ turns, spans: [] }).rows;
  expect(row && [nearest(row, -5), nearest(row, 61_000), nearest(row, HOUR - 1)].map((bar) => bar?.turn)).toEqual([1, 1, 2]);
});

test("ticks are at round times, and few", () => {
  expect(ticks(1000, 61_000, 9000)).toEqual([10_000, 20_000, 30_000, 40_000, 50_000, 60_000]);
  expect(ticks(0, 9e15, 1).length).toBeLessThanOrEqual(100);
});
