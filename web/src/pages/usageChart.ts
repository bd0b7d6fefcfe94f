/** The usage report as the data of a stacked column chart, and its rows summed by group. */

import type { ReportRow } from "../data/source";
import { columnsOf, type Chart, type Range, type Unit } from "./columns";
import { COST, groupName, number } from "./figures";

export const GROUPS = ["project", "model", "agent_type", "tool", "machine", "person"] as const;
export type Group = (typeof GROUPS)[number];
export type Measure = "cost" | "tokens";

/** The number of colours; the smallest groups share the last one. */
const MOST_SERIES = 6;
const OTHERS = "others";

/** The figure of each measure. */
export const FIGURES: Record<Measure, string> = { cost: COST, tokens: "tokens" };

export const measureOf = (row: ReportRow, measure: Measure): number => number(row, FIGURES[measure]);

/** The chart of these rows, from the first day of the range, or of the rows, to the last. */
export function chartOf(rows: ReportRow[], unit: Unit, group: Group, measure: Measure, range: Range): Chart {
  const names = groupNames(rows, group, measure);
  const shown = names.length > MOST_SERIES ? [...names.slice(0, MOST_SERIES - 1), OTHERS] : names;
  const seriesOf = new Map(names.map((name, at) => [name, Math.min(at, shown.length - 1)]));
  return columnsOf(rows, shown, {
    range,
    unit,
    period: (row) => String(row[unit] ?? ""),
    values: (row) => [[seriesOf.get(groupName(group, row)) ?? 0, measureOf(row, measure)]],
  });
}

/** The names of the groups, the largest first. */
const groupNames = (rows: ReportRow[], group: Group, measure: Measure): string[] =>
  sumBy(rows, (row) => groupName(group, row))
    .sort((a, b) => measureOf(b, measure) - measureOf(a, measure))
    .map((row) => groupName(group, row));

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
  sumBy(rows, (row) => (group === "model" ? groupName(group, row) : row[group]));

/** The sum of two rows; a cost that is unknown in both stays so. */
function added(one: ReportRow, other: ReportRow): ReportRow {
  const sum: ReportRow = { ...one };
  for (const [name, value] of Object.entries(other)) {
    if (typeof value === "number") sum[name] = number(one, name) + value;
    else if (Array.isArray(value)) sum[name] = [...new Set([...((one[name] as unknown[] | undefined) ?? []), ...value])] as string[];
    else if (value === true) sum[name] = true;
  }
  return sum;
}
