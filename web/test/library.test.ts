import { describe, expect, test } from "vitest";
import { clickedSort, groupKey, isEmptySession, listRows, matchesWords, parseSort, type Group, type ListRow } from "../src/pages/groupSessions";
import { choicesOf, daysName, passes, sessionsByDay } from "../src/pages/libraryFilters";
import { sumFigures } from "../src/pages/SessionRow";
import { moneyTick } from "../src/kit/format";
import { axisTicks, durationTicks, lastDays, periodsBetween, wholeTicks } from "../src/pages/columns";
import { chartOf } from "../src/pages/usageChart";
import { runningKeys } from "../src/data/running";
import type { Figures, LibraryRow, NowSession } from "../src/data/values";

const figures = (tokens: number, cost: number | null): Figures => ({
  tokens,
  output_tokens: 0,
  cost_usd: cost,
  unconfirmed_responses: 0,
  unpriced_models: cost === null ? ["x"] : [],
});

const session = (title: string, project: string, tokens: number | null): LibraryRow => ({
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
  kept: false,
  gone: false,
  prompts_only: false,
  machine: null,
  person: null,
  live: false,
  starred: false,
  tags: [],
  archived: false,
  note: "",
  models: ["claude-opus-5-5"],
  turns: null,
  agents: null,
  agent_types: [],
  lines_added: null,
  lines_removed: null,
  failed: false,
  figures: tokens === null ? null : figures(tokens, tokens / 1000),
});

const all = [session("one", "/a", 10), session("two", "/b", 30), session("three", "/a", null)];

test("a row matches if it contains every word", () => {
  expect(matchesWords(all[0] as LibraryRow, "ONE opus")).toBe(true);
  expect(matchesWords(all[0] as LibraryRow, "one sonnet")).toBe(false);
  expect(matchesWords(all[0] as LibraryRow, "")).toBe(true);
});

const nameOf = (row: ListRow): string => (row.kind === "group" ? row.name : row.kind === "repeats" ? `× ${row.sessions.length}` : row.session.title);
const rowsOf = (sessions: LibraryRow[], group: Group, sort = "", toggled: string[] = []) =>
  listRows(sessions, { group, sort: parseSort(sort), toggled: new Set(toggled) }).map(nameOf);
const times = (count: number): LibraryRow[] => all.slice(0, count).map((row, at) => ({ ...row, updated: `2026-11-0${3 - at}T12:00:00Z` }));

test.each<[Group, string, string[], string[]]>([
  ["project", "", [], ["/a", "one", "three", "/b", "two"]],
  ["project", "tokens", [], ["/b", "two", "/a", "one", "three"]],
  ["project", "-tokens", [], ["/a", "three", "one", "/b", "two"]],
  ["project", "", [groupKey("project", "/a")], ["/a", "/b", "two"]],
  ["day", "", [], ["2026-11-03", "one", "2026-11-02", "two", "2026-11-01", "three"]],
  ["branch", "title", [], ["main", "one", "three", "two"]],
  ["none", "tokens", [], ["two", "one", "three"]],
  ["none", "-title", [], ["two", "three", "one"]],
])("grouped by %s and sorted by %j, with %j folded", (group, sort, folded, expected) => {
  expect(rowsOf(times(3), group, sort, folded)).toEqual(expected);
});

test("a click on a column sorts by it, another reverses, a third returns", () => {
  expect(clickedSort(parseSort(""), "cost")).toBe("cost");
  expect(clickedSort(parseSort("cost"), "cost")).toBe("-cost");
  expect(clickedSort(parseSort("-cost"), "cost")).toBe("cost");
  expect(clickedSort(parseSort("cost"), "updated")).toBe("");
  expect(parseSort("constructor").by).toBe("updated");
});

const filtered = { ...session("x", "/home/sam/api", 1), started: "2026-11-01T12:00:00", updated: "2026-11-03T12:00:00", size: 2e6, agent_types: ["Explore"], kept: true, failed: true, machine: "laptop" };

test.each([
  [{}, true],
  [{ project: "/home/sam/api" }, true],
  [{ project: "/home/sam" }, true],
  [{ project: "/home/sa" }, false],
  [{ model: "opus-5-5", agent: "Explore", branch: "main" }, true],
  [{ branch: "dev" }, false],
  [{ size: "1 MB" }, true],
  [{ size: "10 MB" }, false],
  [{ from: "2026-11-02", to: "2026-11-02" }, true],
  [{ from: "2026-11-04" }, false],
  [{ to: "2026-10-31" }, false],
  [{ kept: "1" }, true],
  [{ starred: "1" }, false],
  [{ failed: "1" }, true],
  [{ machine: "laptop" }, true],
  [{ person: "ann" }, false],
])("the filter %j lists it: %s", (only, listed) => expect(passes(filtered, only)).toBe(listed));

test("a session runs if the server says so, whenever it was written", () => {
  const now = (state: string) => ({ summary: "", waiting: 0, sessions: [{ key: filtered.key, state } as NowSession] });
  expect(["working", "waiting", "idle", "died"].map((state) => passes(filtered, { running: "1" }, runningKeys(now(state))))).toEqual([true, true, true, false]);
  expect(passes({ ...filtered, live: true }, { running: "1" }, runningKeys(null))).toBe(false);
});

test("the values of a filter, the most frequent first", () => {
  expect(choicesOf(all, "project")).toEqual([["/a", 2], ["/b", 1]]);
  expect(choicesOf([filtered], "machine")).toEqual([]);
  expect(choicesOf([filtered, { ...filtered, machine: "tower" }], "machine")).toEqual([["laptop", 1], ["tower", 1]]);
  expect(choicesOf([filtered], "size")).toEqual([["100 kB", 1], ["1 MB", 1]]);
  expect([...sessionsByDay([filtered, ...all])]).toEqual([["2026-11-01", 1], ["2026-11-03", 1]]);
  expect(daysName("2025-08-01", "2025-08-31")).toBe("Aug 2025");
});

test("a sum keeps the models without a price", () => {
  expect(sumFigures([])).toBeNull();
  expect(sumFigures([figures(1, 0.5), figures(2, null)])).toMatchObject({ tokens: 3, cost_usd: 0.5, unpriced_models: ["x"] });
});

test("days without usage are columns too", () => {
  const rows = [
    { day: "2026-11-01", model: "a", cost_usd: 1 },
    { day: "2026-11-03", model: "b", cost_usd: 3 },
  ];
  const chart = chartOf(rows, "day", "model", "cost", [null, "2026-11-03"]);
  expect(chart.names).toEqual(["b", "a"]);
  expect(chart.columns).toEqual([
    { period: "2026-11-01", values: [0, 1] },
    { period: "2026-11-02", values: [0, 0] },
    { period: "2026-11-03", values: [3, 0] },
  ]);
});

test("the axis has every week and month of the range, with usage or without", () => {
  expect(periodsBetween("2026-10-28", "2026-11-15", "week")).toEqual(["2026-10-26", "2026-11-02", "2026-11-09"]);
  expect(periodsBetween("2025-11", "2026-02-01", "month")).toEqual(["2025-11", "2025-12", "2026-01", "2026-02"]);
  const week = [{ week: "2026-11-09", model: "a", cost_usd: 1 }];
  const chart = chartOf(week, "week", "model", "cost", lastDays(90, new Date(2026, 10, 15)));
  expect(chart.columns).toHaveLength(13);
  expect(chart.columns.at(-1)).toEqual({ period: "2026-11-09", values: [1] });
});

test("beyond six groups the smallest are combined", () => {
  const rows = Array.from({ length: 9 }, (_, at) => ({ day: "2026-11-01", model: `m${at}`, cost_usd: at + 1 }));
  const chart = chartOf(rows, "day", "model", "cost", [null, "2026-11-01"]);
  expect(chart.names).toEqual(["m8", "m7", "m6", "m5", "m4", "others"]);
  expect(chart.totals.at(-1)).toBe(1 + 2 + 3 + 4);
});

test.each([0, 0.003, 0.85, 1, 7, 42, 999_999])("the ticks of an axis up to %d", (highest) => {
  const ticks = axisTicks(highest);
  expect(ticks.at(-1)).toBeGreaterThanOrEqual(highest);
  expect(ticks.length).toBeLessThanOrEqual(6);
});

test.each([
  [0.0051, ["$0.000", "$0.002", "$0.004", "$0.006"]],
  [0.00004, ["$0.00000", "$0.00001", "$0.00002", "$0.00003", "$0.00004"]],
  [0.05, ["$0.00", "$0.01", "$0.02", "$0.03", "$0.04", "$0.05"]],
  [0.85, ["$0.00", "$0.20", "$0.40", "$0.60", "$0.80", "$1.00"]],
  [2400, ["$0", "$500", "$1,000", "$1,500", "$2,000", "$2,500"]],
])("the ticks of an axis of up to %d dollars are distinct and true", (highest, names) => {
  const ticks = axisTicks(highest);
  expect(ticks.map((tick) => moneyTick(tick, ticks[1] ?? 1))).toEqual(names);
});

test.each([
  [0, [0, 1]],
  [1, [0, 1]],
  [2, [0, 1, 2]],
  [7, [0, 2, 4, 6, 8]],
])("the ticks of an axis of whole numbers up to %d", (highest, ticks) => expect(wholeTicks(highest)).toEqual(ticks));

describe("the ticks of an axis of seconds", () => {
  test.each([
    [0, [0, 1]],
    [4, [0, 1, 2, 3, 4]],
    [518, [0, 120, 240, 360, 480, 600]],
    [20_000, [0, 7200, 14_400, 21_600]],
  ])("are whole seconds, minutes or hours up to %s", (highest, ticks) => {
    expect(durationTicks(highest)).toEqual(ticks);
  });
});

describe("repeats", () => {
  const repeated = [...Array.from({ length: 5 }, () => session("daily", "/a", 1)), session("other", "/a", 1), session("daily", "/b", 1)];

  test("are one row with their number", () => expect(rowsOf(repeated, "none")).toEqual(["× 5", "other", "daily"]));

  test.each(["turns", "tokens", "cost", "changed"])("stand where the sum of their %s does", (by) => {
    const row = (title: string, value: number | null): LibraryRow => ({ ...session(title, "/a", value), turns: value, lines_added: value, lines_removed: value === null ? null : 0 });
    const rows = [row("daily", 1), row("large", 6), row("daily", 2), row("daily", null), row("daily", 2), row("middle", 4), row("none", null)];
    expect(rowsOf(rows, "none", by)).toEqual(["large", "× 4", "middle", "none"]);
    expect(rowsOf(rows, "project", `-${by}`)).toEqual(["/a", "none", "middle", "× 4", "large"]);
  });

  test("stand at their last time, which the row shows", () => {
    const at = (title: string, day: number): LibraryRow => ({ ...session(title, "/a", 1), updated: `2026-11-0${day}T12:00:00Z` });
    const rows = [at("daily", 1), at("daily", 2), at("old", 3), at("daily", 4), at("daily", 5), at("new", 6)];
    expect(rowsOf(rows, "none", "")).toEqual(["new", "× 4", "old"]);
    expect(rowsOf(rows, "none", "-updated")).toEqual(["old", "× 4", "new"]);
  });

  test("are shown below it if they are open", () => expect(rowsOf(repeated, "none", "", ["/a\ndaily"])).toEqual(["× 5", ...Array<string>(5).fill("daily"), "other", "daily"]));
});

test.each([
  ["", 0, 0, true],
  ["(empty)", 0, 654, true],
  ["/clear", 1, 0, true],
  ["/review the code", 1, 500, false],
  ["/home/sam is full", 1, 0, false],
  ["Hello", 1, 0, false],
])("a session %j with %s turns and %s tokens is empty: %s", (title, turns, tokens, empty) => {
  expect(isEmptySession({ ...session(title, "/a", tokens), turns })).toBe(empty);
});
