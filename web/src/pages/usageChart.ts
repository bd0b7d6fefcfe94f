/** The usage report as the data of a stacked column chart, and its rows summed by group. */

import { folder, model } from "../kit/format";
import type { ReportRow } from "../data/source";
import { columnsOf, type Chart, type Range, type Unit } from "./columns";

export const GROUPS = ["project", "model", "agent_type", "tool", "machine", "person"] as const;
export type Group = (typeof GROUPS)[number];
export type Measure = "cost" | "tokens";

/** The number of colours; the smallest groups share the last one. */
const MOST_SERIES = 6;
const OTHERS = "others";

export const number = (row: ReportRow, name: string): number => Number(row[name] ?? 0);

export const tokensOf = (row: ReportRow): number => number(row, "tokens");

export const measureOf = (row: ReportRow, measure: Measure): number => (measure === "cost" ? number(row, "cost_usd") : tokensOf(row));

const NAMES: Record<Group, (value: string) => string> = {
  model,
  project: folder,
  agent_type: (value) => (value === "main" ? "main thread" : value),
  tool: (value) => (value === "(no call)" ? "text only" : value),
  machine: String,
  person: String,
};

export const groupName = (row: ReportRow, group: Group): string => {
  const value = row[group];
  return value === null || value === undefined || value === "" ? "unknown" : NAMES[group](String(value));
};

/** The chart of these rows, from the first day of the range, or of the rows, to the last. */
export function chartOf(rows: ReportRow[], unit: Unit, group: Group, measure: Measure, range: Range): Chart {
  const names = groupNames(rows, group, measure);
  const shown = names.length > MOST_SERIES ? [...names.slice(0, MOST_SERIES - 1), OTHERS] : names;
  const seriesOf = new Map(names.map((name, at) => [name, Math.min(at, shown.length - 1)]));
  return columnsOf(rows, shown, {
    range,
    unit,
    period: (row) => String(row[unit] ?? ""),
    values: (row) => [[seriesOf.get(groupName(row, group)) ?? 0, measureOf(row, measure)]],
  });
}

/** The names of the groups, the largest first. */
function groupNames(rows: ReportRow[], group: Group, measure: Measure): string[] {
  const sums = new Map<string, number>();
  for (const row of rows) {
    const name = groupName(row, group);
    sums.set(name, (sums.get(name) ?? 0) + measureOf(row, measure));
  }
  return [...sums.keys()].sort((a, b) => (sums.get(b) ?? 0) - (sums.get(a) ?? 0));
}

/** One row for each key, with the sums of the rows that have it. */
export function sumBy(rows: ReportRow[], key: (row: ReportRow) => unknown): ReportRow[] {
  const sums = new Map<unknown, ReportRow>();
  for (const row of rows) {
    const before = sums.get(key(row));
    sums.set(key(row), before ? added(before, row) : { ...row });
  }
  return [...sums.values()];
}

/** One row for each group. Versions of a model that have one name are one group, as in the chart. */
export const sumByGroup = (rows: ReportRow[], group: Group): ReportRow[] =>
  sumBy(rows, (row) => (group === "model" ? groupName(row, group) : row[group]));

/** The sum of two rows; a cost that is unknown in both stays so. */
function added(one: ReportRow, other: ReportRow): ReportRow {
  const sum: ReportRow = { ...one };
  for (const [name, value] of Object.entries(other)) {
    if (typeof value === "number") sum[name] = number(one, name) + value;
  }
  return sum;
}
