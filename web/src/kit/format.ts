/** Numbers, times and names as text. `tests/fixtures/format.json` has cases that the Python formatter shares. */

import { savedTimeZone } from "./storage";

const grouped = new Intl.NumberFormat("en-US");

/** All digits, with thousands separators. */
export const exact = (count: number): string => grouped.format(count);

/** Rounded to one decimal, half up. */
const rounded = (value: number): number => Math.floor(value * 10 + 0.5) / 10;

/** A number in the largest of the units, each 1,000 of the one before, in which it is at least 1. */
function scaled(value: number, units: readonly string[]): string {
  let unit = 0;
  let left = value;
  while (unit < units.length - 1 && rounded(left) >= 1000) {
    left /= 1000;
    unit += 1;
  }
  return `${rounded(left)}${units[unit]}`;
}

/** 950, 12.3k, 4.5M, 2.4B. */
export const tokens = (count: number): string => scaled(count, ["", "k", "M", "B"]);

/** 42 B, 1.4 MB. */
export const size = (bytes: number): string => scaled(bytes, [" B", " kB", " MB", " GB", " TB"]);

/** $1.23; four decimals below half a cent. A lower bound begins with "≥", and is never "≥ <". */
export function money(usd: number, lowerBound = false): string {
  if (usd > 0 && usd < 0.00005) return lowerBound ? "> $0" : "<$0.0001";
  const decimals = usd > 0 && usd < 0.005 ? 4 : 2;
  const amount = usd.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  return `${lowerBound ? "≥ " : ""}$${amount}`;
}

/** A tick of an axis of dollars, with the decimals that a step has. */
export const moneyTick = (usd: number, step: number): string => {
  const decimals = step >= 1 ? 0 : Math.max(2, Math.ceil(-Math.log10(step) - 1e-9));
  return `$${usd.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals })}`;
};

export const exactMoney = (usd: number): string => `$${usd.toFixed(6).replace(/0{1,4}$/, "")}`;

/** 50 ms, 1.2 s, 45 s, 12 min 30 s, 27 h 46 min. */
export function duration(seconds: number): string {
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 9.95) return `${rounded(seconds)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return twoUnits(Math.floor(whole / 60), "min", whole % 60, "s");
  return twoUnits(Math.floor(whole / 3600), "h", Math.floor((whole % 3600) / 60), "min");
}

const twoUnits = (large: number, unit: string, small: number, smallUnit: string): string =>
  small ? `${large} ${unit} ${small} ${smallUnit}` : `${large} ${unit}`;

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${exact(count)} ${count === 1 ? one : many}`;

export const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** The time zone that was chosen in the settings, which a new page load applies; undefined for that of the browser. */
export const timeZone = savedTimeZone();
const dateFormat = (locale: string | undefined, options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(locale, { ...options, timeZone });

const timeFormat = dateFormat(undefined, { hour: "2-digit", minute: "2-digit", hour12: false });
const dayFormat = dateFormat("en-GB", { day: "numeric", month: "short" });
const yearFormat = dateFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const weekdayFormat = dateFormat("en-GB", { weekday: "short", day: "numeric", month: "short" });
const monthFormat = dateFormat("en-GB", { month: "short", year: "numeric" });
const fullFormat = dateFormat("en-GB", { dateStyle: "full", timeStyle: "long" });
const isoFormat = dateFormat("en-CA", { year: "numeric", month: "2-digit", day: "2-digit" });

/** The day of a time: 2026-11-03. */
export const isoDay = (time: Date): string => isoFormat.format(time);

export const timeOfDay = (time: string): string => timeFormat.format(new Date(time));

export function day(time: string, now = new Date()): string {
  const date = new Date(time);
  return (date.getFullYear() === now.getFullYear() ? dayFormat : yearFormat).format(date);
}

/** Tue 3 Feb. */
export const weekday = (time: string): string => weekdayFormat.format(new Date(time)).replace(",", "");

export const month = (time: string): string => monthFormat.format(new Date(time));

export const fullTime = (time: string): string => fullFormat.format(new Date(time));

/** "2 min ago", the time of day, "yesterday" or the date, whichever is shortest for its age. */
export function ago(time: string, now = new Date()): string {
  const seconds = (now.getTime() - new Date(time).getTime()) / 1000;
  if (seconds < 0) return day(time, now);
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  const date = isoDay(new Date(time));
  if (date === isoDay(now)) return timeOfDay(time);
  if (date === isoDay(new Date(now.getTime() - 86_400_000))) return "yesterday";
  return day(time, now);
}

/** `ago`, and the time of day with a date that is less than a year old. */
export function when(time: string, now = new Date()): string {
  const text = ago(time, now);
  const isDate = text === day(time, now) && new Date(time).getFullYear() === now.getFullYear();
  return isDate || text === "yesterday" ? `${text} ${timeOfDay(time)}` : text;
}

/** A path with `~` for the home folder. */
export const folder = (path: string): string =>
  path.replace(/^(\/home\/[^/]+|\/Users\/[^/]+|\/root|[A-Za-z]:\\Users\\[^\\]+)(?=[\\/]|$)/, "~");

// A model's name between a provider, a region, a date and the size of its context.
const MODEL = /^(?:[a-z]{2,6}(?:-gov)?\.)?(?:anthropic\.)?claude-([a-z0-9.-]+?)(?:-latest|-\d{8}|-\d{4}-\d{2}-\d{2})?(?:(?:-v\d+)?@[a-z0-9-]+)?(?:-v\d+(?::\d+[a-z]*)*)?(?:\[\w+\])?$/;

/** `claude-opus-5-5-20261101` and `us.anthropic.claude-opus-5-5-v1:0` as `opus-5-5`. */
export const model = (id: string): string =>
  MODEL.exec(id.trim().toLowerCase().split("/").at(-1) ?? "")?.[1]?.replaceAll(".", "-") ?? id.replace(/^claude-/, "");

/** A text with paths relative to the project. */
export const inProject = (text: string, project: string): string =>
  project.length > 1 ? text.replaceAll(`${project}/`, "").replaceAll(`${project}\\`, "") : text;

/** A part of the whole in percent; what rounds to nothing is less than one. */
export const share = (part: number): string => (part > 0 && part < 0.005 ? "< 1 %" : `${Math.round(part * 100)} %`);
