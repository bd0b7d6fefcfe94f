/** What a list of sessions is narrowed to: which rows match, which values there are, and their names. */

import { isoDay, plural } from "../kit/format";
import { LIST_FILTERS, SIZES, type Filters } from "../data/listFilters";
import type { LibraryRow } from "../data/values";
import { periodName } from "./ColumnChart";

const dayOf = (time: string | null): string => (time ? isoDay(new Date(time)) : "");

/** True if a session was at work on one of the days. */
export function isBetween({ started, updated }: LibraryRow, from: string | undefined, to: string | undefined): boolean {
  const last = dayOf(updated ?? started);
  return last !== "" && (!from || last >= from) && (!to || (dayOf(started) || last) <= to);
}

/** True if a row passes all filters; `running` has the keys of the sessions that run. */
export function passes(row: LibraryRow, only: Filters, running: ReadonlySet<string> = new Set()): boolean {
  return (
    Object.entries(LIST_FILTERS).every(([name, { values, is }]) => {
      const wanted = only[name];
      if (!wanted) return true;
      return is ? is(row, running) : values?.(row).includes(wanted) || (name === "project" && isBelow(row.project, wanted));
    }) &&
    ((!only.from && !only.to) || isBetween(row, only.from, only.to))
  );
}

const isBelow = (path: string, parent: string): boolean => path.startsWith(`${parent}/`) || path.startsWith(`${parent}\\`);

/** The values of a filter with how many sessions each has, the most first; sizes in their order. One machine or person alone is no choice. */
export function choicesOf(rows: LibraryRow[], name: string): [value: string, count: number][] {
  const counts = new Map<string, number>(name === "size" ? Object.keys(SIZES).map((size) => [size, 0]) : []);
  for (const row of rows) for (const value of LIST_FILTERS[name]?.values?.(row) ?? []) counts.set(value, (counts.get(value) ?? 0) + 1);
  const found = [...counts].filter(([, count]) => count);
  if ((name === "machine" || name === "person") && found.length < 2) return [];
  return name === "size" ? found : found.sort(([a, many], [b, more]) => more - many || a.localeCompare(b));
}

/** The name of a value on the page. */
export const valueName = (name: string, value: string): string => LIST_FILTERS[name]?.name?.(value) ?? value;

/** The days of a filter in words. */
export function daysName(from: string | undefined, to: string | undefined): string {
  if (from && to) return from === to ? periodName(from) : wholeMonth(from, to) ? periodName(from.slice(0, 7)) : `${periodName(from)} – ${periodName(to)}`;
  return from ? `since ${periodName(from)}` : `until ${periodName(to ?? "")}`;
}

function wholeMonth(from: string, to: string): boolean {
  const after = new Date(`${to}T12:00Z`);
  after.setUTCDate(after.getUTCDate() + 1);
  return from.endsWith("-01") && after.getUTCDate() === 1 && from.slice(0, 7) === to.slice(0, 7);
}

/** The number of sessions on each day that they were at work; of longer ones, the first and the last. */
export function sessionsByDay(rows: LibraryRow[]): Map<string, number> {
  const days = new Map<string, number>();
  for (const { started, updated } of rows) {
    for (const day of new Set([dayOf(started), dayOf(updated)])) if (day) days.set(day, (days.get(day) ?? 0) + 1);
  }
  return days;
}

export const dayTitle = (day: string, count: number): string => `${periodName(day)}: ${count ? plural(count, "session") : "no sessions"}`;
