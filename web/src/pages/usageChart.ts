/** The usage report as the data of a stacked column chart. */

import { folder, model } from "../kit/format";
import type { UsageRow } from "../source";
import { columnsOf, type Chart, type Range, type Unit } from "./columns";

export type Group = "model" | "project";
export type Measure = "cost" | "tokens";

/** The number of colours; the smallest groups share the last one. */
const MOST_SERIES = 6;
const OTHERS = "others";

const TOKEN_FIELDS = [
  "input_tokens",
  "output_tokens",
  "cache_write_5m_tokens",
  "cache_write_1h_tokens",
  "cache_read_tokens",
];

export const tokensOf = (row: UsageRow): number => TOKEN_FIELDS.reduce((sum, name) => sum + Number(row[name] ?? 0), 0);

export const groupName = (row: UsageRow, group: Group): string => {
  const name = String(row[group] ?? "unknown");
  return group === "model" ? model(name) : folder(name);
};

/** The chart of these rows, from the first day of the range, or of the rows, to the last. */
export function chartOf(rows: UsageRow[], unit: Unit, group: Group, measure: Measure, range: Range): Chart {
  const value = (row: UsageRow) => (measure === "cost" ? Number(row.cost_usd ?? 0) : tokensOf(row));
  const sums = new Map<string, number>();
  for (const row of rows) {
    const name = groupName(row, group);
    sums.set(name, (sums.get(name) ?? 0) + value(row));
  }
  const ranked = [...sums.keys()].sort((a, b) => (sums.get(b) ?? 0) - (sums.get(a) ?? 0));
  const names = ranked.length > MOST_SERIES ? [...ranked.slice(0, MOST_SERIES - 1), OTHERS] : ranked;
  const seriesOf = new Map(ranked.map((name, at) => [name, Math.min(at, names.length - 1)]));
  return columnsOf(rows, names, {
    range,
    unit,
    period: (row) => String(row[unit] ?? ""),
    values: (row) => [[seriesOf.get(groupName(row, group)) ?? 0, value(row)]],
  });
}
