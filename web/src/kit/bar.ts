/** How much of the screen the bar on top covers: read once, and again when the window changes. */

const ROOM = 8;

let known: number | null = null;

/** Where text begins under the bar. */
export function topOfText(): number {
  if (known === null) {
    known = (document.querySelector(".bar")?.clientHeight ?? 48) + ROOM;
    addEventListener("resize", () => (known = null), { once: true });
  }
  return known;
}
