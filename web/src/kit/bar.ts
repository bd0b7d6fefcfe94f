/** How much of the screen the bar on top covers: read once, and again when the window changes. */

const ROOM = 8;

let known: number | null = null;

addEventListener("resize", () => {
  known = null;
});

/** Where text begins under the bar. */
export function topOfText(): number {
  known ??= (document.querySelector(".bar")?.clientHeight ?? 48) + ROOM;
  return known;
}
