/** The height of the bar at the top, measured once and again when the window is resized, and of the line that sticks to it. */

const GAP = 8;
/** The height of the line, which is in the style sheet too. */
const LINE = 40;

let known: number | null = null;

/** Where content begins below them, in pixels from the top of the screen. */
export function contentTop(): number {
  if (known === null) {
    known = barHeight() + GAP;
    addEventListener("resize", () => (known = null), { once: true });
  }
  return known + (document.querySelector(".filters") ? LINE : 0);
}

/** What stays of the bar on a scrolled page: on a phone, only the row with the search field. */
function barHeight(): number {
  const bar = document.querySelector(".bar");
  return bar ? bar.clientHeight + parseFloat(getComputedStyle(bar).top) : 48;
}
