/** Text whose invisible characters show: bidi overrides, zero-width marks, control codes. */

import type { ReactNode } from "react";

const ODD =
  "\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e" +
  "\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb\\u{e0000}-\\u{e007f}";
// Joiners belong in emoji and in many scripts: they are odd only between plain letters.
const PATTERN = `[${ODD}]|(?<=[\\x21-\\x7e])[\\u200c\\u200d](?=[\\x21-\\x7e])`;
const anyOdd = new RegExp(PATTERN, "u");
const everyOdd = new RegExp(PATTERN, "gu");

const hasOdd = (text: string): boolean => anyOdd.test(text);

export type Piece = string | { code: string };

/** The text in pieces: plain strings, and the code points that would not show. */
export function pieces(text: string): Piece[] {
  if (!hasOdd(text)) return [text];
  const found: Piece[] = [];
  let at = 0;
  for (const match of text.matchAll(everyOdd)) {
    if (match.index > at) found.push(text.slice(at, match.index));
    found.push({ code: codePoint(match[0]) });
    at = match.index + match[0].length;
  }
  if (at < text.length) found.push(text.slice(at));
  return found;
}

const codePoint = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;

export function Plain({ text }: { text: string }): ReactNode {
  if (!hasOdd(text)) return text;
  return pieces(text).map((piece, index) =>
    typeof piece === "string" ? piece : <Odd key={index} code={piece.code} />,
  );
}

export function Odd({ code }: { code: string }) {
  return (
    <span className="odd" title="A character that does not show">
      {code}
    </span>
  );
}
