/** A session over time as rows of bars, on a scale on which long waits are short. */

import type { Waterfall, WaterfallSpan } from "../data/values";

/** Waits longer than this many milliseconds are shortened. */
const LONG_WAIT = 30_000;
/** So is work during which nothing began or ended for longer than this: a machine that slept, a build of hours. */
const LONG_WORK = 30 * 60_000;
/** How long shortened waits are together at most, as a part of the rest. */
const WAITS_SHARE = 0.3;
/** Rows of tools and of agents at most; what is left over shares the last one. */
const MOST_ROWS = 60;

export interface Bar {
  kind: "turn" | "wait" | "idle" | "model" | "tool" | "agent" | "person";
  row: number;
  start: number;
  end: number;
  turn: number;
  item: number;
  name: string;
  state: string;
  call: number | null;
}

export interface Row {
  /** Shown beside the first row of each kind. */
  label: string;
  /** In the order of their starts. */
  bars: Bar[];
}

export interface WaterfallLayout {
  rows: Row[];
  /** How long the model and the tools worked, and how long they waited, in seconds. */
  model: number;
  tools: number;
  waiting: number;
  /** How long nothing was at work inside turns, in seconds. */
  idle: number;
  agents: number;
  failed: number;
}

export function layOut({ turns, spans }: Waterfall): WaterfallLayout {
  const of = (...kinds: string[]) => spans.filter(({ kind }) => kinds.includes(kind)).map(toBar);
  const turnBars = turns.map(
    ({ index, item, start, end }): Bar => ({ kind: "turn", row: 0, start, end, turn: index, item, name: String(index), state: "", call: null }),
  );
  const waits = turnBars.flatMap((bar, at): Bar[] => {
    const next = turnBars[at + 1];
    return next && next.start > bar.end ? [{ ...bar, kind: "wait", start: bar.end, end: next.start, item: next.item, name: "" }] : [];
  });
  const tools = of("tool");
  const agents = of("agent");
  const asked = of("person");
  const idle = pauses([...waits, ...asked, ...tools, ...agents, ...of("model")], turnBars);
  const rows = [
    { label: "Turns", bars: turnBars },
    { label: "Waiting", bars: [...waits, ...asked, ...idle] },
    { label: "Model", bars: of("model") },
    ...pack(tools).map((bars, at) => ({ label: at ? "" : "Tools", bars })),
    ...pack(agents).map((bars, at) => ({ label: at ? "" : "Agents", bars })),
  ].filter(({ bars }) => bars.length > 0);
  rows.forEach(({ bars }, row) => {
    bars.sort((a, b) => a.start - b.start);
    for (const bar of bars) bar.row = row;
  });
  return {
    rows,
    model: covered(of("model")),
    tools: covered(tools),
    waiting: covered([...waits, ...asked]),
    idle: covered(idle),
    agents: agents.length,
    failed: [...tools, ...agents].filter(({ state }) => state === "failed").length,
  };
}

const toBar = ({ kind, start, end, turn, item, name, state, call }: WaterfallSpan): Bar => ({
  kind: kind as Bar["kind"],
  row: 0,
  start,
  end: Math.max(start, end),
  turn,
  item,
  name,
  state,
  call,
});

/** The long pauses between some bars, each with the turn that it is in. */
function pauses(bars: Bar[], turns: Bar[]): Bar[] {
  const found: Bar[] = [];
  let last: Bar | undefined;
  for (const bar of bars.toSorted((a, b) => a.start - b.start)) {
    if (last && bar.start - last.end > LONG_WAIT) {
      const { end: start } = last;
      const turn = turns[firstWhere(turns, (one) => one.start > start) - 1];
      found.push({ ...bar, kind: "idle", start, end: bar.start, turn: turn?.turn ?? bar.turn, name: "", state: "", call: null });
    }
    if (!last || bar.end > last.end) last = bar;
  }
  return found;
}

/** Bars in as many rows as run at the same time. */
function pack(bars: Bar[]): Bar[][] {
  const rows: Bar[][] = [];
  const ends: number[] = [];
  for (const bar of bars.toSorted((a, b) => a.start - b.start)) {
    let row = ends.findIndex((end) => end <= bar.start);
    if (row < 0) row = Math.min(ends.length, MOST_ROWS - 1);
    (rows[row] ??= []).push(bar);
    ends[row] = Math.max(ends[row] ?? bar.end, bar.end);
  }
  return rows;
}

/** How long some bars are together, in seconds; what they share counts once. */
function covered(bars: Bar[]): number {
  let total = 0;
  let reached = -Infinity;
  for (const { start, end } of bars.toSorted((a, b) => a.start - b.start)) {
    total += Math.max(0, end - Math.max(start, reached));
    reached = Math.max(reached, end);
  }
  return total / 1000;
}

/** A stretch of time and its place on the scale. */
export interface Stretch {
  start: number;
  end: number;
  at: number;
  length: number;
  /** Whether nothing happened for so long that it is drawn shorter than it is. */
  shortened: boolean;
}

/** Times as places on a line. */
export class Scale {
  readonly stretches: Stretch[] = [];
  readonly length: number;

  constructor(rows: Row[], shorten: boolean) {
    const stretches = quietStretches(rows);
    const long = stretches.map(({ quiet, start, end }) => (shorten && quiet ? Math.log2((2 * (end - start)) / LONG_WAIT) : 0));
    const weight = long.reduce((sum, one) => sum + one, 0);
    const worked = stretches.reduce((sum, { start, end }, n) => sum + (long[n] ? 0 : end - start), 0);
    // A longer wait is drawn longer, but only a little; all together they leave most of the room to the work.
    const unit = Math.min(LONG_WAIT, Math.max(1000, (WAITS_SHARE * worked) / Math.max(1, weight)));
    let at = 0;
    stretches.forEach(({ start, end }, n) => {
      const length = long[n] ? Math.min(end - start, unit * long[n]) : end - start;
      this.stretches.push({ start, end, at, length, shortened: !!long[n] });
      at += length;
    });
    this.length = Math.max(1, at);
  }

  at(time: number): number {
    const stretch = this.find(({ start }) => start <= time);
    if (!stretch) return 0;
    const { start, end, at, length } = stretch;
    return at + (end > start ? (Math.min(time, end) - start) / (end - start) : 0) * length;
  }

  time(place: number): number {
    const stretch = this.find(({ at }) => at <= place) ?? this.stretches[0];
    if (!stretch) return 0;
    const { start, end, at, length } = stretch;
    return start + (length > 0 ? Math.min(1, Math.max(0, place - at) / length) : 0) * (end - start);
  }

  /** Whether it is drawn shorter than it is from this time on. */
  shortens(time: number): boolean {
    return this.find(({ start }) => start <= time)?.shortened ?? false;
  }

  private find(isBefore: (stretch: Stretch) => boolean): Stretch | undefined {
    return this.stretches[firstWhere(this.stretches, (stretch) => !isBefore(stretch)) - 1];
  }
}

/** The whole time in stretches: those in which nothing was at work, or nothing began or ended, for long are quiet. */
function quietStretches(rows: Row[]): { start: number; end: number; quiet: boolean }[] {
  const bars = rows.flatMap((row) => row.bars);
  const working = bars.filter(({ kind }) => kind === "model" || kind === "tool" || kind === "agent");
  const times = [...new Set(bars.flatMap(({ start, end }) => [start, end]))].toSorted((a, b) => a - b);
  const changes = new Map<number, number>();
  for (const { start, end } of working) {
    changes.set(start, (changes.get(start) ?? 0) + 1);
    changes.set(end, (changes.get(end) ?? 0) - 1);
  }
  const stretches: { start: number; end: number; quiet: boolean }[] = [];
  let atWork = 0;
  times.slice(1).forEach((end, n) => {
    const start = times[n] as number;
    atWork += changes.get(start) ?? 0;
    const quiet = end - start > (atWork > 0 ? LONG_WORK : LONG_WAIT);
    const last = stretches.at(-1);
    if (last && !last.quiet && !quiet) last.end = end;
    else stretches.push({ start, end, quiet });
  });
  return stretches;
}

/** The index of the first element for which a test is true, and is true for all after it. */
export function firstWhere<T>(sorted: T[], test: (element: T) => boolean): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (test(sorted[middle] as T)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The bar of a row that is nearest to a time. */
export function nearest({ bars }: Row, time: number): Bar | undefined {
  const after = firstWhere(bars, ({ start }) => start > time);
  const [before, next] = [bars[after - 1], bars[after]];
  if (!before || !next) return before ?? next;
  return time <= before.end || time - before.end <= next.start - time ? before : next;
}

/** Times at which marks fit on an axis, at least `step` milliseconds apart. */
export function ticks(from: number, to: number, step: number): number[] {
  const size = STEPS.find((one) => one >= step) ?? STEPS.at(-1) ?? step;
  const offset = new Date(from).getTimezoneOffset() * 60_000; // so that days begin at midnight
  const found: number[] = [];
  for (let at = Math.ceil((from - offset) / size) * size + offset; at <= to && found.length < 100; at += size) found.push(at);
  return found;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const STEPS = [1, 2, 5, 10, 15, 30].flatMap((n) => n * SECOND).concat(
  [1, 2, 5, 10, 15, 30].map((n) => n * MINUTE),
  [1, 2, 3, 6, 12, 24, 48, 24 * 7].map((n) => n * HOUR),
);
