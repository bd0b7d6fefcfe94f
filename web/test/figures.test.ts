import { describe, expect, test } from "vitest";
import { byServer } from "../src/pages/byServer";
import { figureText, figureTitle, groupName, valueOf } from "../src/pages/figures";
import { onlyOf } from "../src/pages/reportParts";
import { chartOf, sumBy } from "../src/pages/usageChart";
import type { ReportColumn, ReportRow } from "../src/data/source";

const column = (kind: string, name = "n", figures = [name]): ReportColumn => ({ name, title: "N", kind, figures });

describe("a figure is written by the kind of its column", () => {
  test.each<[string, ReportRow, string, string[]?]>([
    ["count", { n: 1234 }, "1,234"],
    ["count", { n: 0 }, ""],
    ["count", { n: null }, ""],
    ["tokens", { n: 0 }, "0"],
    ["tokens", { a: 1000, b: 234 }, "1,234", ["a", "b"]],
    ["tokens", { a: 5, b: null }, "5", ["a", "b"]],
    ["money", { n: 1.5 }, "$1.50"],
    ["money", { n: null }, "–"],
    ["money", { n: 1.5, lower_bound: true }, "$1.50"],
    ["share", { n: 0.5 }, "50 %"],
    ["seconds", { n: 75 }, "1 min 15 s"],
    ["seconds", { n: 0 }, ""],
    ["change", { a: 12, b: 3 }, "+12 −3", ["a", "b"]],
    ["change", { a: 0, b: 3 }, "−3", ["a", "b"]],
    ["a kind of tomorrow", { n: 7 }, "7"],
  ])("%s of %j is %j", (kind, row, text, figures) => expect(figureText(column(kind, "n", figures), row)).toBe(text));

  test("a cost may be a lower bound, what was reported is not", () => {
    const cost = column("money", "cost_usd");
    expect(figureText(cost, { cost_usd: 2, lower_bound: true })).toBe("≥ $2.00");
    expect(figureText(cost, { cost_usd: 2, unpriced_models: ["x"] })).toBe("≥ $2.00");
    expect(figureText(cost, { cost_usd: 2, lower_bound: false, unpriced_models: [] })).toBe("$2.00");
    expect(figureTitle(cost, { cost_usd: null })).toBe("No price for its models");
    expect(figureTitle(column("count"), { n: 1 })).toBeUndefined();
  });

  test("a sum is unknown only if all of it is", () => {
    expect(valueOf(column("tokens", "n", ["a", "b"]), { a: null, b: null })).toBeNull();
    expect(valueOf(column("tokens", "n", ["a", "b"]), { a: null, b: 2 })).toBe(2);
  });
});

test.each<[string, ReportRow, string]>([
  ["model", { model: "claude-opus-5-5-20261101" }, "opus-5-5"],
  ["project", { project: "/home/sam/shop" }, "~/shop"],
  ["agent_type", { agent_type: "main" }, "main thread"],
  ["tool", { tool: "(no call)" }, "text only"],
  ["file", { file: "/a/b/c.py" }, "b/c.py"],
  ["mcp_server", { mcp_server: null }, "no mcp server"],
  ["cause", { cause: "idle_over_5m" }, "idle over 5 minutes"],
  ["session", { session: "s1" }, "Title"],
  ["session", { session: "s2" }, "s2"],
])("the group %s of %j is %j", (by, row, name) =>
  expect(groupName(by, row, { labels: { idle_over_5m: "idle over 5 minutes" }, sessions_by_id: { s1: { key: "k", title: "Title", project: "p" } } })).toBe(name));

test("the filters of a report are the choices that are not its own", () => {
  expect(onlyOf({ period: "All time", by: "tool", open: "x", failures: "all", project: "/a", failed: "1", branch: "" })).toEqual({ project: "/a", failed: "1" });
});

test("rows are summed, with what makes them lower bounds", () => {
  const rows: ReportRow[] = [
    { model: "a", cost_usd: 1, unpriced_models: [], lower_bound: false },
    { model: "b", cost_usd: null, unpriced_models: ["x"], lower_bound: true },
    { model: "c", cost_usd: null, unpriced_models: ["x"], lower_bound: false },
  ];
  expect(sumBy(rows, () => "all")).toEqual([{ model: "a", cost_usd: 1, unpriced_models: ["x"], lower_bound: true }]);
  expect(sumBy(rows.slice(1), () => "all")[0]?.cost_usd).toBeNull();
});

test("several tools of a server are one row, which keeps its place", () => {
  const rows = [{ tool: "mcp__git__log", calls: 2 }, { tool: "Bash", calls: 9 }, { tool: "mcp__git__diff", calls: 1 }, { tool: "mcp__one__x", calls: 1 }];
  expect(byServer(rows)).toEqual([{ tool: "mcp__git", calls: 3, tools: 2 }, rows[1], rows[3]]);
});

test("the smallest groups of a chart share the last colour", () => {
  const rows = Array.from({ length: 8 }, (_, at) => ({ day: "2026-11-01", project: `/p${at}`, cost_usd: at + 1 }));
  const chart = chartOf(rows, "day", "project", "cost", ["2026-11-01", "2026-11-01"]);
  expect(chart.names).toEqual(["/p7", "/p6", "/p5", "/p4", "/p3", "others"]);
  expect(chart.totals).toEqual([8, 7, 6, 5, 4, 6]);
});
