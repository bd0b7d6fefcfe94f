/** The height of the bar at the top, measured once and again when the window is resized, and of the line that sticks to it. */

const GAP = 8;
/** The height of the line, which is in the style sheet too. */
const LINE = 40;

let known: number | null = null;

/** Where content begins below them, in pixels from the top of the screen. */
export function contentTop(): number {
  if (known === null) {
    known = (document.querySelector(".bar")?.clientHeight ?? 48) + GAP;
    addEventListener("resize", () => (known = null), { once: true });
  }
  return known + (document.querySelector(".filters.sticky") ? LINE : 0);
}
