/** Columns over time: the data of a stacked column chart. */

import { isoDay } from "../kit/format";

/** The units of a time axis; hours are those of one day. */
export const UNITS = ["day", "week", "month"] as const;
export type Unit = (typeof UNITS)[number] | "hour";

/** The first and the last day; null for the first day with data. */
export type Range = [from: string | null, to: string];

export interface Column {
  period: string;
  /** In the order of the names. */
  values: number[];
}

export interface Chart {
  names: string[];
  /** The classes of the series' colours; numbered ones if it does not say. */
  colours?: string[];
  totals: number[];
  columns: Column[];
}

/** The periods that reports offer: how many days, their name, and the unit of their columns. */
export const PERIODS: [days: number | null, name: string, unit: Unit][] = [
  [7, "7 days", "day"],
  [30, "30 days", "day"],
  [90, "90 days", "week"],
  [365, "12 months", "month"],
  [null, "All time", "month"],
];

export const periodOf = (name: string | undefined): (typeof PERIODS)[number] =>
  PERIODS.find((period) => period[1] === name) ?? (PERIODS[1] as (typeof PERIODS)[number]);

/** The columns of named series from the first day of the range, or of the rows, to the last. */
export function columnsOf<Row>(
  rows: Row[],
  names: string[],
  { range: [from, to], unit, period, values }: { range: Range; unit: Unit; period(row: Row): string; values(row: Row): [series: number, value: number][] },
): Chart {
  const known = [...new Set(rows.map(period))].sort();
  const periods = [...new Set([...known, ...periodsBetween(from ?? known.find(Boolean) ?? to, to, unit)])].sort();
  const byPeriod = new Map<string, Column>(periods.map((name) => [name, { period: name, values: names.map(() => 0) }]));
  for (const row of rows) {
    const column = byPeriod.get(period(row));
    for (const [series, value] of column ? values(row) : []) {
      if (column) column.values[series] = (column.values[series] ?? 0) + value;
    }
  }
  const columns = [...byPeriod.values()];
  return { names, totals: names.map((_, at) => columns.reduce((sum, column) => sum + (column.values[at] ?? 0), 0)), columns };
}

/** The periods from one day to another, as reports name them: days, the Mondays of weeks, months, the hours of a day. */
export function periodsBetween(from: string, to: string, unit: Unit): string[] {
  if (unit === "hour") return HOURS;
  const day = new Date(`${from.length === 7 ? `${from}-01` : from}T00:00:00Z`);
  if (unit === "week") day.setUTCDate(day.getUTCDate() - ((day.getUTCDay() + 6) % 7));
  if (unit === "month") day.setUTCDate(1);
  const periods: string[] = [];
  for (; day.toISOString().slice(0, 10) <= to; STEPS[unit](day)) {
    periods.push(day.toISOString().slice(0, unit === "month" ? 7 : 10));
  }
  return periods.slice(-MOST_PERIODS);
}

/** A wrong clock can be decades off: so many periods are shown at most, the latest. */
const MOST_PERIODS = 800;

export const HOURS = Array.from({ length: 24 }, (_, hour) => `${String(hour).padStart(2, "0")}:00`);

/** The unit that gives a range a readable number of columns. */
export function fittingUnit(from: string, to: string): Unit {
  const months = periodsBetween(from, to, "month").length;
  return months > 6 ? "month" : months > 2 ? "week" : "day";
}

/** The first and the last day of a period. */
export function daysOf(period: string, unit: Unit): [from: string, to: string] {
  const day = new Date(`${period.length === 7 ? `${period}-01` : period}T00:00:00Z`);
  const from = day.toISOString().slice(0, 10);
  if (unit !== "hour") STEPS[unit](day);
  if (unit !== "hour") day.setUTCDate(day.getUTCDate() - 1);
  return [from, day.toISOString().slice(0, 10)];
}

const STEPS: Record<Exclude<Unit, "hour">, (day: Date) => void> = {
  day: (day) => day.setUTCDate(day.getUTCDate() + 1),
  week: (day) => day.setUTCDate(day.getUTCDate() + 7),
  month: (day) => day.setUTCMonth(day.getUTCMonth() + 1),
};

/** A day some days later, or earlier. */
export function dayAfter(day: string, step = 1): string {
  const date = new Date(`${day}T12:00:00Z`);
  date.setUTCDate(date.getUTCDate() + step);
  return date.toISOString().slice(0, 10);
}

/** The last so many days, today included; null for all. */
export function lastDays(days: number | null, now = new Date()): Range {
  const date = (back: number) => dayAfter(isoDay(now), -back);
  return [days === null ? null : date(days - 1), date(0)];
}

const DURATIONS = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 18_000, 36_000];

/** The ticks of an axis of seconds: whole seconds, minutes or hours. */
export function durationTicks(highest: number): number[] {
  const step = DURATIONS.find((seconds) => highest / seconds <= 5) ?? 3600 * (axisTicks(highest / 3600)[1] ?? 1);
  return Array.from({ length: Math.max(1, Math.ceil(highest / step)) + 1 }, (_, at) => at * step);
}

/** The ticks of an axis, from zero to a round number at or above the highest value. */
export function axisTicks(highest: number): number[] {
  if (highest <= 0) return [0, 1];
  const power = 10 ** Math.floor(Math.log10(highest));
  const step = [0.2, 0.5, 1, 2].map((part) => part * power).find((step) => highest / step <= 5) ?? power * 2;
  return Array.from({ length: Math.ceil(highest / step - 1e-9) + 1 }, (_, at) => at * step);
}

/** The ticks of an axis of whole numbers. */
export const wholeTicks = (highest: number): number[] => axisTicks(highest).filter(Number.isInteger);
