/** What a list of sessions is narrowed to: which rows match, which values there are, and their names. */

import { folder, isoDay, model, plural } from "../kit/format";
import type { LibraryRow } from "../data/values";
import type { Filters } from "../route";
import { periodName } from "./ColumnChart";

/** The filters that have values to choose from. */
export const CHOICES = ["project", "model", "agent", "branch", "machine", "person", "size"] as const;
export type Choice = (typeof CHOICES)[number];
/** The filters that are on or off, and what they are called. */
export const SWITCHES = { starred: "★ Starred", failed: "Failed last", running: "Running", captured: "Captured", kept: "Kept" } as const;
export type Switch = keyof typeof SWITCHES;

const SIZES: Record<string, number> = { "100 kB": 1e5, "1 MB": 1e6, "10 MB": 1e7 };

const VALUES: Record<Choice, (row: LibraryRow) => string[]> = {
  project: (row) => [row.project],
  model: (row) => row.models.map(model),
  agent: (row) => row.agent_types,
  branch: (row) => (row.git_branch ? [row.git_branch] : []),
  machine: (row) => (row.machine ? [row.machine] : []),
  person: (row) => (row.person ? [row.person] : []),
  size: (row) => Object.keys(SIZES).filter((name) => row.size >= (SIZES[name] ?? 0)),
};

const IS: Record<Switch, (row: LibraryRow, running: ReadonlySet<string>) => boolean> = {
  starred: (row) => row.starred,
  failed: (row) => row.failed,
  running: (row, running) => running.has(row.key),
  captured: (row) => row.captured,
  kept: (row) => row.kept || row.gone,
};

const dayOf = (time: string | null): string => (time ? isoDay(new Date(time)) : "");

/** True if a session was at work on one of the days. */
export function isBetween({ started, updated }: LibraryRow, from: string | undefined, to: string | undefined): boolean {
  const last = dayOf(updated ?? started);
  return last !== "" && (!from || last >= from) && (!to || (dayOf(started) || last) <= to);
}

/** True if a row passes all filters; `running` has the keys of the sessions that run. */
export function passes(row: LibraryRow, only: Filters, running: ReadonlySet<string> = new Set()): boolean {
  return (
    CHOICES.every((name) => only[name] === undefined || VALUES[name](row).includes(only[name]) || (name === "project" && isBelow(row.project, only[name]))) &&
    Object.entries(IS).every(([name, test]) => !only[name as Switch] || test(row, running)) &&
    ((!only.from && !only.to) || isBetween(row, only.from, only.to))
  );
}

const isBelow = (path: string, parent: string): boolean => path.startsWith(`${parent}/`) || path.startsWith(`${parent}\\`);

/** The values of a filter with how many sessions each has, the most first; sizes in their order. One machine or person alone is no choice. */
export function choicesOf(rows: LibraryRow[], name: Choice): [value: string, count: number][] {
  const counts = new Map<string, number>(name === "size" ? Object.keys(SIZES).map((size) => [size, 0]) : []);
  for (const row of rows) for (const value of VALUES[name](row)) counts.set(value, (counts.get(value) ?? 0) + 1);
  const found = [...counts].filter(([, count]) => count);
  if ((name === "machine" || name === "person") && found.length < 2) return [];
  return name === "size" ? found : found.sort(([a, many], [b, more]) => more - many || a.localeCompare(b));
}

/** The name of a value on the page. */
export const valueName = (name: Choice, value: string): string =>
  name === "project" ? folder(value) : name === "size" ? `over ${value}` : value;

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
