/** The clock of a replay: how long to wait between two moments. */

const LONGEST_GAP = 3;

/** Seconds to wait: the gap as it was, no longer than the longest, at the speed. */
export function wait(before: string | null, after: string | null, speed: number, longest = LONGEST_GAP): number {
  if (!before || !after) return 0;
  const gap = (Date.parse(after) - Date.parse(before)) / 1000;
  return Number.isFinite(gap) ? Math.min(Math.max(0, gap), longest) / speed : 0;
}
