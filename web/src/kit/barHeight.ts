/** The height of the bar at the top, measured once and again when the window is resized. */

const GAP = 8;

let known: number | null = null;

/** Where content begins below the bar, in pixels from the top of the screen. */
export function contentTop(): number {
  if (known === null) {
    known = (document.querySelector(".bar")?.clientHeight ?? 48) + GAP;
    addEventListener("resize", () => (known = null), { once: true });
  }
  return known;
}
