/** The usage report as the data of a stacked column chart. */

import { folder, model } from "../kit/format";
import type { UsageRow } from "../source";

export type Unit = "day" | "week" | "month";
export type Group = "model" | "project";
export type Measure = "cost" | "tokens";

/** The number of colours; the smallest groups share the last one. */
const MOST_SERIES = 6;
const OTHERS = "others";

export interface Column {
  period: string;
  /** In the order of the names. */
  values: number[];
}

export interface Chart {
  names: string[];
  totals: number[];
  columns: Column[];
}

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

export function chartOf(rows: UsageRow[], unit: Unit, group: Group, measure: Measure): Chart {
  const value = (row: UsageRow) => (measure === "cost" ? Number(row.cost_usd ?? 0) : tokensOf(row));
  const sums = new Map<string, number>();
  for (const row of rows) {
    const name = groupName(row, group);
    sums.set(name, (sums.get(name) ?? 0) + value(row));
  }
  const ranked = [...sums.keys()].sort((a, b) => (sums.get(b) ?? 0) - (sums.get(a) ?? 0));
  const names = ranked.length > MOST_SERIES ? [...ranked.slice(0, MOST_SERIES - 1), OTHERS] : ranked;
  const seriesOf = new Map(ranked.map((name, at) => [name, Math.min(at, names.length - 1)]));
  const periods = withEmptyDays(rows.map((row) => String(row[unit] ?? "")), unit);
  const byPeriod = new Map<string, Column>(periods.map((period) => [period, { period, values: names.map(() => 0) }]));
  for (const row of rows) {
    const column = byPeriod.get(String(row[unit] ?? ""));
    const series = seriesOf.get(groupName(row, group));
    if (column && series !== undefined) column.values[series] = (column.values[series] ?? 0) + value(row);
  }
  const columns = [...byPeriod.values()];
  return { names, totals: names.map((_, at) => columns.reduce((sum, { values }) => sum + (values[at] ?? 0), 0)), columns };
}

/** The periods in order; days without usage are added. */
function withEmptyDays(periods: string[], unit: Unit): string[] {
  const known = [...new Set(periods)].sort();
  const [first] = known;
  const last = known.at(-1);
  if (unit !== "day" || !first || !last || !/^\d{4}-\d\d-\d\d$/.test(first)) return known;
  const days: string[] = [];
  for (let day = Date.parse(first); day <= Date.parse(last) && days.length < 400; day += 86_400_000) {
    days.push(new Date(day).toISOString().slice(0, 10));
  }
  return days;
}

/** The ticks of an axis, from zero to a round number at or above the highest value. */
export function axisTicks(highest: number): number[] {
  if (highest <= 0) return [0, 1];
  const power = 10 ** Math.floor(Math.log10(highest));
  const step = [0.2, 0.5, 1, 2].map((part) => part * power).find((step) => highest / step <= 5) ?? power * 2;
  return Array.from({ length: Math.ceil(highest / step) + 1 }, (_, at) => at * step);
}
