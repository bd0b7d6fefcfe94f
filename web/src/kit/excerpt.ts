/** The text around a match, cut between words. */

/** A longer piece at the edge is cut inside: scripts without spaces, long paths. */
const LONGEST_WORD = 20;

/** The end of the text before a match; an ellipsis stands for what is left out. */
export function textBefore(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = text.slice(-most);
  const space = end.search(/\s/);
  return `…${(space >= 0 && space < LONGEST_WORD ? end.slice(space) : end).trimStart()}`;
}

/** The text after a match, of which a server sends `most` characters; an ellipsis stands for more. */
export function textAfter(text: string, most: number): string {
  if (text.length < most) return text;
  const last = text.match(/\s\S*$/)?.[0] ?? "";
  return `${(last && last.length <= LONGEST_WORD ? text.slice(0, -last.length) : text).trimEnd()}…`;
}
