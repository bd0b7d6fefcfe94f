/** The usage report as stacked columns. */

import type { UsageRow } from "../source";
import { folder, model } from "../kit/words";

export type Group = "model" | "project";
export type Measure = "cost" | "tokens";

/** As many colours as can be told apart; the rest is one group. */
const MOST = 6;
const REST = "others";

export interface Column {
  when: string;
  /** In the order of the names. */
  values: number[];
}

export interface Chart {
  names: string[];
  totals: number[];
  columns: Column[];
}

const TOKENS = ["input_tokens", "output_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens", "cache_read_tokens"];

export const tokensOf = (row: UsageRow): number => TOKENS.reduce((sum, name) => sum + Number(row[name] ?? 0), 0);

export const groupName = (row: UsageRow, group: Group): string => {
  const name = String(row[group] ?? "unknown");
  return group === "model" ? model(name) : folder(name);
};

export function seriesOf(rows: UsageRow[], unit: string, group: Group, measure: Measure): Chart {
  const value = (row: UsageRow) => (measure === "cost" ? Number(row.cost_usd ?? 0) : tokensOf(row));
  const sums = new Map<string, number>();
  for (const row of rows) {
    const name = groupName(row, group);
    sums.set(name, (sums.get(name) ?? 0) + value(row));
  }
  const ranked = [...sums.keys()].sort((a, b) => (sums.get(b) ?? 0) - (sums.get(a) ?? 0));
  const names = ranked.length > MOST ? [...ranked.slice(0, MOST - 1), REST] : ranked;
  const place = new Map(ranked.map((name, at) => [name, Math.min(at, names.length - 1)]));
  const columns = new Map<string, Column>(
    filled(rows.map((row) => String(row[unit] ?? "")), unit).map((when) => [when, { when, values: names.map(() => 0) }]),
  );
  for (const row of rows) {
    const column = columns.get(String(row[unit] ?? ""));
    const at = place.get(groupName(row, group));
    if (column && at !== undefined) column.values[at] = (column.values[at] ?? 0) + value(row);
  }
  const all = [...columns.values()];
  return { names, totals: names.map((_, at) => all.reduce((sum, column) => sum + (column.values[at] ?? 0), 0)), columns: all };
}

/** Days without anything are days too. */
function filled(whens: string[], unit: string): string[] {
  const known = [...new Set(whens)].sort();
  const [first] = known;
  const last = known.at(-1);
  if (unit !== "day" || !first || !last || !/^\d{4}-\d\d-\d\d$/.test(first)) return known;
  const days: string[] = [];
  for (let day = Date.parse(first); day <= Date.parse(last) && days.length < 400; day += 86_400_000) {
    days.push(new Date(day).toISOString().slice(0, 10));
  }
  return days;
}

/** A round number at or above the highest value, and the steps to it. */
export function scale(highest: number): number[] {
  if (highest <= 0) return [0, 1];
  const step = 10 ** Math.floor(Math.log10(highest));
  const size = [0.2, 0.5, 1, 2].map((part) => part * step).find((size) => highest / size <= 5) ?? step * 2;
  const count = Math.ceil(highest / size);
  return Array.from({ length: count + 1 }, (_, at) => at * size);
}
