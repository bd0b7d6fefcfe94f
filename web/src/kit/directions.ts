/** Text that changes its direction very often.
 *
 * The browser lays out each change of direction as a piece of its own, and all pieces of a paragraph together take time with
 * the square of their number: 60,000 letters, Arabic and Latin in turn, take ten seconds. In separate blocks they do not.
 */

const RIGHT_TO_LEFT = "\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufefe\\u{10800}-\\u{10fff}\\u{1e800}-\\u{1efff}";
const any = new RegExp(`[${RIGHT_TO_LEFT}]`, "u");
const every = new RegExp(`[${RIGHT_TO_LEFT}]+`, "gu");

/** Texts with more passages from right to left are split. */
const MOST = 256;

/** How many passages of a text go from right to left; those of a text that will be split count as one. */
export function passages(text: string): number {
  const count = any.test(text) ? (text.match(every)?.length ?? 0) : 0;
  return count > MOST ? 1 : count;
}

/** The pieces of a text that can be laid out in a moment; most texts are one piece. */
export function splitDirections(text: string): string[] {
  if (text.length <= MOST || !any.test(text)) return [text];
  const pieces: string[] = [];
  let start = 0;
  let count = 0;
  for (const { 0: found, index } of text.matchAll(every)) {
    count += 1;
    if (count % MOST) continue;
    pieces.push(text.slice(start, index + found.length));
    start = index + found.length;
  }
  return [...pieces, text.slice(start)].filter(Boolean);
}
