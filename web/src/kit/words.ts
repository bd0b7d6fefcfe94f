/** Figures and times as words. */

const exactNumber = new Intl.NumberFormat("en-US");

export const exact = (count: number): string => exactNumber.format(count);

/** 950, 4.2k, 41k, 1.2M. */
export function short(count: number): string {
  for (const [unit, letter] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]] as const) {
    if (count >= unit * 0.9995) {
      const scaled = count / unit;
      return `${scaled < 9.95 ? scaled.toFixed(1) : Math.round(scaled)}${letter}`;
    }
  }
  return String(Math.round(count));
}

export function money(usd: number): string {
  if (usd === 0) return "$0";
  if (usd < 0.005) return "<$0.01";
  return usd < 1000 ? `$${usd.toFixed(2)}` : `$${exact(Math.round(usd))}`;
}

export const exactMoney = (usd: number): string => `$${usd.toFixed(6).replace(/0{1,4}$/, "")}`;

export function duration(seconds: number): string {
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  if (seconds < 59.5) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  return `${Math.round(hours / 24)} days`;
}

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${exact(count)} ${count === 1 ? one : many}`;

export function bytes(count: number): string {
  if (count < 1000) return `${count} B`;
  return `${short(count).replace("k", " k").replace("M", " M").replace("G", " G")}B`;
}

const clockFormat = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hour12: false });
const dayFormat = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const yearFormat = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const fullFormat = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeStyle: "long" });

export const clock = (time: string): string => clockFormat.format(new Date(time));

export function day(time: string, now = new Date()): string {
  const date = new Date(time);
  return (date.getFullYear() === now.getFullYear() ? dayFormat : yearFormat).format(date);
}

export const fullTime = (time: string): string => fullFormat.format(new Date(time));

/** How long ago, while that says more than the date. */
export function ago(time: string, now = new Date()): string {
  const seconds = (now.getTime() - new Date(time).getTime()) / 1000;
  if (seconds < 0) return day(time, now);
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  const yesterday = new Date(now);
  yesterday.setDate(now.getDate() - 1);
  const date = new Date(time).toDateString();
  if (date === now.toDateString()) return clock(time);
  if (date === yesterday.toDateString()) return "yesterday";
  return day(time, now);
}

/** The folder as people write it. */
export const folder = (path: string): string => path.replace(/^(\/home\/[^/]+|\/Users\/[^/]+|\/root)(?=\/|$)/, "~");

/** `claude-opus-5-5-20261101` is `opus-5-5` on the screen. */
export const model = (name: string): string => name.replace(/^claude-/, "").replace(/-20\d{6}$/, "");
