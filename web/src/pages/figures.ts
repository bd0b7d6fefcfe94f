/** What the columns and the groups of a report say: their kinds come from the declaration that the server sends. */

import { ago, duration, exact, exactMoney, folder, model, money, share } from "../kit/format";
import type { CountedCall, Report, ReportColumn, ReportRow } from "../data/source";
import { periodName } from "./ColumnChart";

export const number = (row: ReportRow, name: string): number => Number(row[name] ?? 0);

/** The figure of a column, or the sum of those that it adds up; null if none of them is known. */
export function valueOf({ figures }: ReportColumn, row: ReportRow): number | null {
  const known = figures.filter((name) => row[name] !== null && row[name] !== undefined);
  return known.length ? known.reduce((sum, name) => sum + number(row, name), 0) : null;
}

/** True if a cost may be higher: some model has no price, or some response no final count. */
export const isLeast = (row: ReportRow): boolean => row.lower_bound === true || Boolean((row.unpriced_models as string[] | undefined)?.length);

/** The cost that may be higher; what the client reported is what it is. */
export const COST = "cost_usd";
const whole = (value: number): string => (value ? exact(value) : "");
export const moment = (ms: number): string => ago(new Date(ms).toISOString());

/** The text of a figure by the kind of its column. */
const TEXTS: Record<string, (value: number, row: ReportRow, column: ReportColumn) => string> = {
  count: whole,
  tokens: exact,
  money: (usd, row, { name }) => money(usd, name === COST && isLeast(row)),
  share,
  seconds: (seconds) => (seconds ? duration(seconds) : ""),
  change: (_, row, { figures: [added = "", removed = ""] }) => [number(row, added) && `+${exact(number(row, added))}`, number(row, removed) && `−${exact(number(row, removed))}`].filter(Boolean).join(" "),
  time: moment,
};

export function figureText(column: ReportColumn, row: ReportRow): string {
  const value = valueOf(column, row);
  if (value === null) return column.kind === "money" ? "–" : "";
  return (TEXTS[column.kind] ?? String)(value, row, column);
}

/** What a cell says at the pointer. */
export function figureTitle(column: ReportColumn, row: ReportRow): string | undefined {
  if (column.kind !== "money") return undefined;
  const value = valueOf(column, row);
  return value === null ? "No price for its models" : exactMoney(value);
}

export const callTime = ({ time_ms }: CountedCall): string => (time_ms === null ? "" : moment(time_ms));

const NAMES: Record<string, (value: string) => string> = {
  model,
  project: folder,
  agent_type: (value) => (value === "main" ? "main thread" : value),
  tool: (value) => (value === "(no call)" ? "text only" : value),
  file: (value) => value.split(/[\\/]/).slice(-2).join("/"),
  day: periodName,
  week: (value) => value.split(" to ").map(periodName).join(" – "),
  month: periodName,
};

/** The name of a group as people read it. */
export function groupName(by: string, row: ReportRow, { labels, sessions_by_id }: Pick<Report, "labels" | "sessions_by_id"> = {}): string {
  const value = row[by];
  if (value === null || value === undefined || value === "") return `no ${by.replace("_", " ")}`;
  const text = String(value);
  const name = labels?.[text] ?? sessions_by_id?.[text]?.title ?? (NAMES[by] ?? String)(text);
  return row.partial === true ? `${name} +` : name;
}
