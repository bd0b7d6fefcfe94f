/** Text in which invisible characters are shown by their code: bidi overrides, zero-width and control characters.
 *
 * A long run of combining marks is counted: the browser would stack thousands of them on one letter, which takes minutes.
 */

import type { ReactNode } from "react";
import { splitDirections } from "./directions";

const INVISIBLE =
  "\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e" +
  "\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb\\u{e0000}-\\u{e007f}";
// Joiners belong in emoji and in many scripts: they are shown only between ASCII characters.
const MARKS = "\\p{M}{9,}";
const PATTERN = `[${INVISIBLE}]|(?<=[\\x21-\\x7e])[\\u200c\\u200d](?=[\\x21-\\x7e])|${MARKS}`;
const anyInvisible = new RegExp(PATTERN, "u");
const everyInvisible = new RegExp(PATTERN, "gu");

const hasInvisible = (text: string): boolean => anyInvisible.test(text);

/** A text with more pieces shows the codes without a frame: each frame takes time to draw. */
const MOST_MARKS = 500;

export const INVISIBLE_TITLE = "Invisible character";

export type Piece = string | { code: string };

/** Split text into visible strings and the codes of invisible characters. */
export function splitInvisible(text: string): Piece[] {
  if (!hasInvisible(text)) return [text];
  const found: Piece[] = [];
  let at = 0;
  for (const match of text.matchAll(everyInvisible)) {
    if (match.index > at) found.push(text.slice(at, match.index));
    found.push({ code: codePoint(match[0]) });
    at = match.index + match[0].length;
  }
  if (at < text.length) found.push(text.slice(at));
  return found;
}

/** The code of a character; of a run of them, that of the first and how many there are. */
const codePoint = (found: string): string => {
  const code = `U+${(found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
  const count = found.length > 2 ? [...found].length : 1;
  return count > 1 ? `${code} × ${count.toLocaleString("en-US")}` : code;
};

/** A text in one string, with the codes of its invisible characters, for places that take no elements. */
export const visible = (text: string): string =>
  splitInvisible(text).map((piece) => (typeof piece === "string" ? piece : `⟨${piece.code}⟩`)).join("");

interface Props {
  text: string;
  /** The element around it; a span if it only has a class or a title. */
  as?: "bdi" | "code" | "dd" | "h1" | "p" | "span" | "strong" | "td";
  className?: string;
  /** Shown like the text itself, with the codes of invisible characters. */
  title?: string;
  dir?: "auto";
}

export function PlainText({ text, as, className, title, dir }: Props): ReactNode {
  const Element = as ?? (className !== undefined || title !== undefined ? "span" : null);
  if (!Element) return <Directions text={text} />;
  return (
    <Element className={className} title={title && visible(title)} dir={dir}>
      <Directions text={text} />
    </Element>
  );
}

function Directions({ text }: { text: string }): ReactNode {
  const blocks = splitDirections(text);
  if (blocks.length === 1) return <VisibleText text={text} />;
  return blocks.map((block, index) => (
    <span key={index} className="directions">
      <VisibleText text={block} />
    </span>
  ));
}

function VisibleText({ text }: { text: string }): ReactNode {
  if (!hasInvisible(text)) return text;
  const pieces = splitInvisible(text);
  if (pieces.length > MOST_MARKS) return visible(text);
  return pieces.map((piece, index) =>
    typeof piece === "string" ? (
      piece
    ) : (
      <span key={index} className="invisible" title={INVISIBLE_TITLE}>
        {piece.code}
      </span>
    ),
  );
}
