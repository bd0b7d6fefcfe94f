/** A line above a turn that begins on another day than what came before, or long after it. */

import { plural, weekday } from "../kit/format";
import type { TimelineItem } from "../data/values";

const HOUR_MS = 3_600_000;
const TWO_DAYS_MS = 48 * HOUR_MS;

export function Divider({ item }: { item: TimelineItem }) {
  const text = dividerText(item);
  return text ? <p className="day-divider">{text}</p> : null;
}

/** "Tue 3 Feb · 19 h later", "4 h later", or nothing. */
export function dividerText({ time, after }: Pick<TimelineItem, "time" | "after">): string {
  if (!time || !after) return "";
  const gap = new Date(time).getTime() - new Date(after).getTime();
  const isNewDay = gap > 0 && new Date(time).toDateString() !== new Date(after).toDateString();
  return [isNewDay ? weekday(time) : "", later(gap)].filter(Boolean).join(" · ");
}

function later(gap: number): string {
  if (gap < HOUR_MS) return "";
  return gap < TWO_DAYS_MS ? `${Math.round(gap / HOUR_MS)} h later` : `${plural(Math.round(gap / HOUR_MS / 24), "day")} later`;
}
