/** The usage report as the data of a stacked column chart. */

import { folder, model } from "../kit/format";
import type { UsageRow } from "../source";

export type Unit = "day" | "week" | "month";
export type Group = "model" | "project";
export type Measure = "cost" | "tokens";

/** The number of colours; the smallest groups share the last one. */
const MOST_SERIES = 6;
const OTHERS = "others";

/** The first and the last day; null for the first day with usage. */
export type Range = [from: string | null, to: string];

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

/** The chart of these rows, from the first day of the range, or of the rows, to the last. */
export function chartOf(rows: UsageRow[], unit: Unit, group: Group, measure: Measure, [from, to]: Range): Chart {
  const value = (row: UsageRow) => (measure === "cost" ? Number(row.cost_usd ?? 0) : tokensOf(row));
  const sums = new Map<string, number>();
  for (const row of rows) {
    const name = groupName(row, group);
    sums.set(name, (sums.get(name) ?? 0) + value(row));
  }
  const ranked = [...sums.keys()].sort((a, b) => (sums.get(b) ?? 0) - (sums.get(a) ?? 0));
  const names = ranked.length > MOST_SERIES ? [...ranked.slice(0, MOST_SERIES - 1), OTHERS] : ranked;
  const seriesOf = new Map(ranked.map((name, at) => [name, Math.min(at, names.length - 1)]));
  const known = [...new Set(rows.map((row) => String(row[unit] ?? "")))].sort();
  const periods = [...new Set([...known, ...periodsBetween(from ?? known.find(Boolean) ?? to, to, unit)])].sort();
  const byPeriod = new Map<string, Column>(periods.map((period) => [period, { period, values: names.map(() => 0) }]));
  for (const row of rows) {
    const column = byPeriod.get(String(row[unit] ?? ""));
    const series = seriesOf.get(groupName(row, group));
    if (column && series !== undefined) column.values[series] = (column.values[series] ?? 0) + value(row);
  }
  const columns = [...byPeriod.values()];
  return { names, totals: names.map((_, at) => columns.reduce((sum, { values }) => sum + (values[at] ?? 0), 0)), columns };
}

/** The periods from one day to another, as the usage report names them: days, the Mondays of weeks, months. */
export function periodsBetween(from: string, to: string, unit: Unit): string[] {
  const day = new Date(`${from.length === 7 ? `${from}-01` : from}T00:00:00Z`);
  if (unit === "week") day.setUTCDate(day.getUTCDate() - ((day.getUTCDay() + 6) % 7));
  if (unit === "month") day.setUTCDate(1);
  const periods: string[] = [];
  for (; day.toISOString().slice(0, 10) <= to && periods.length < MOST_PERIODS; STEPS[unit](day)) {
    periods.push(day.toISOString().slice(0, unit === "month" ? 7 : 10));
  }
  return periods;
}

const MOST_PERIODS = 400;

const STEPS: Record<Unit, (day: Date) => void> = {
  day: (day) => day.setUTCDate(day.getUTCDate() + 1),
  week: (day) => day.setUTCDate(day.getUTCDate() + 7),
  month: (day) => day.setUTCMonth(day.getUTCMonth() + 1),
};

/** The last so many days, today included, in the time zone of the browser; null for all. */
export function lastDays(days: number | null, now = new Date()): Range {
  const date = (back: number) => {
    const day = new Date(now.getFullYear(), now.getMonth(), now.getDate() - back, 12);
    return `${day.getFullYear()}-${String(day.getMonth() + 1).padStart(2, "0")}-${String(day.getDate()).padStart(2, "0")}`;
  };
  return [days === null ? null : date(days), date(0)];
}

/** The ticks of an axis, from zero to a round number at or above the highest value. */
export function axisTicks(highest: number): number[] {
  if (highest <= 0) return [0, 1];
  const power = 10 ** Math.floor(Math.log10(highest));
  const step = [0.2, 0.5, 1, 2].map((part) => part * power).find((step) => highest / step <= 5) ?? power * 2;
  return Array.from({ length: Math.ceil(highest / step) + 1 }, (_, at) => at * step);
}
