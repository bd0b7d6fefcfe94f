/** The timing of a replay. */

const LONGEST_GAP = 3;

/** Seconds to wait between two timestamps: their gap, at most `longest`, divided by the speed. */
export function replayDelay(before: string | null, after: string | null, speed: number, longest = LONGEST_GAP): number {
  if (!before || !after) return 0;
  const gap = (Date.parse(after) - Date.parse(before)) / 1000;
  return Number.isFinite(gap) ? Math.min(Math.max(0, gap), longest) / speed : 0;
}
