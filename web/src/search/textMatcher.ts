/** What a query means inside one session: the text as typed, or the words and fields of a search over all sessions.
 *
 * The server follows the same rules (`reader/session_search.py`); `tests/fixtures/search.json` tests both.
 */

import type { SearchText } from "../data/embedded";
import { fold, unfolded, writtenPattern } from "./fold";
import { CJK, EMOJI, parseQuery, wordsOf, type Exact, type QueryNode, type Words } from "./query";

/** What a query calls each kind of text; a call is one text here, and its input and its result there. */
const UNIT_KINDS: Record<SearchText["where"], string[]> = {
  prompt: ["prompt"],
  text: ["text"],
  thinking: ["thinking"],
  call: ["input", "result"],
  notice: ["notice"],
};

type Leaf = Words | Exact;

export type Span = [start: number, end: number];

const AROUND = 80;
const MOST_MATCHES = 200;
const LONGEST_QUERY = 500;
const LONGEST_WORD = 128;

const OTHER = `[^\\p{L}\\p{N}${EMOJI}]`;
const START = `(?<![\\p{L}\\p{N}\\p{M}])|(?<=[${CJK}])`;
/** Where a word begins, too, unless it is part of a phrase: after the escapes of strings. */
const ESCAPED = "|(?<=\\\\[nrtbfv0])|(?<=\\\\x[0-9a-f]{2})|(?<=\\\\u[0-9a-f]{4})";
const END = `(?:(?![\\p{L}\\p{N}\\p{M}])|(?=[${CJK}]))`;
const isSingle = new RegExp(`^[${CJK}${EMOJI}]`, "u");
const isHash = /^(?=[a-z]*\d)(?=\d*[a-f])[0-9a-f]{7,40}$/;
const HUMP = /[a-z0-9][A-Z]|[A-Z][A-Z][a-z0-9]/;
const ESCAPED_RUN = /\\(?:[nrtbfv0]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4})([A-Za-z0-9]+)/g;
const PIECE = /[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+/g;

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");

export class TextMatcher {
  private readonly literal: string;
  private readonly tree: QueryNode | null;
  private readonly leaves: Leaf[];

  /** Throws an error with a message for the user if the query makes no sense. */
  constructor(query: string) {
    const text = query.slice(0, LONGEST_QUERY);
    this.literal = escaped(text);
    this.tree = parseQuery(text);
    this.leaves = this.tree ? [...wanted(this.tree)] : [];
  }

  /** A pattern that finds every place to mark. */
  get marks(): RegExp {
    const words = this.leaves.flatMap((leaf) => [patternOf(leaf, false, writtenPattern), patternOf(leaf, true, writtenPattern)]);
    return new RegExp([this.literal, ...words].join("|"), "giu");
  }

  /** The text, with composed characters if words matched, and where the match is; empty if only fields matched. */
  find(unit: SearchText): { text: string; span: Span } | null {
    const found = new RegExp(this.literal, "iu").exec(unit.text);
    if (found) return { text: unit.text, span: [found.index, found.index + found[0].length] };
    const { tree } = this;
    if (!tree || !UNIT_KINDS[unit.where].some((kind) => matches(tree, unit, kind))) return null;
    const text = unit.text.normalize("NFC");
    const folded = fold(text);
    const span = bestSpan(folded, this.leaves, false) ?? bestSpan(folded, this.leaves, true) ?? [0, 0];
    return { text, span: folded.length === text.length ? span : unfolded(text, ...span) };
  }
}

/** The words and exact characters that a query asks for, without those that it excludes. */
function* wanted(node: QueryNode): Generator<Leaf> {
  if (node.type === "words" || node.type === "exact") yield node;
  if (node.type === "and" || node.type === "or") for (const inner of node.nodes) yield* wanted(inner);
}

/** A pattern that finds some words or characters; `inside` finds words within longer ones too. */
function patternOf(leaf: Leaf, inside: boolean, written = escaped): string {
  return leaf.type === "exact" ? exactPattern(fold(leaf.text), written) : wordsPattern(leaf, inside, written);
}

/** A pattern for characters as they stand; where they begin or end with a word, that word is whole. */
function exactPattern(text: string, written = escaped): string {
  const isLetter = (character: string) => /[\p{L}\p{N}]/u.test(character) && !isSingle.test(character);
  const body = text.split(" ").map(written).join("\\s+");
  const [first = ""] = text;
  const last = [...text].at(-1) ?? "";
  return (isLetter(first) ? `(?:${START}${ESCAPED})` : "") + body + (isLetter(last) ? END : "");
}

function hasExact(text: string, written: string): boolean {
  const composed = written.normalize("NFC");
  const isPlain = fold(text) === text; // what is asked for without accents is found with them, too
  return new RegExp(exactPattern(text.normalize("NFC")), "iu").test(isPlain ? fold(composed) : composed);
}

function wordsPattern({ words, prefix, suffix }: Words, inside: boolean, written = escaped): string {
  const first = words[0] ?? "";
  const last = words.at(-1) ?? "";
  const gap = (left: string, right: string) => `${OTHER}${isSingle.test(left) || isSingle.test(right) ? "*" : "+"}`;
  const body = words.map((word, at) => (at ? gap(words[at - 1] ?? "", word) : "") + written(word)).join("");
  const isAlone = words.length === 1 && !prefix && !suffix;
  const hash = words.length === 1 && isHash.test(first);
  const start = inside || suffix || isSingle.test(first) ? "" : `(?:${START}${isAlone ? ESCAPED : ""})`;
  return start + body + (inside || prefix || hash || isSingle.test(last) ? "" : END);
}

function matches(node: QueryNode, unit: SearchText, kind: string): boolean {
  switch (node.type) {
    case "words":
      return hasWords(node, unit.text);
    case "exact":
      return hasExact(node.text, unit.text);
    case "and":
      return node.nodes.every((inner) => matches(inner, unit, kind));
    case "or":
      return node.nodes.some((inner) => matches(inner, unit, kind));
    case "not":
      return !matches(node.node, unit, kind);
    case "kinds":
      return node.kinds.has(kind);
    case "named":
      return (node.field === "tool" ? [unit.tool ?? ""] : (unit.files ?? [])).some((name) => contains(wordsOf(name), node.words));
    case "errors":
      return unit.error ?? false;
  }
}

const contains = (name: string[], part: string[]): boolean =>
  name.some((_, at) => part.every((word, offset) => name[at + offset] === word));

function hasWords(leaf: Words, written: string): boolean {
  const text = fold(written.normalize("NFC"));
  if (new RegExp(wordsPattern(leaf, false), "iu").test(text)) return true;
  const [word = ""] = leaf.words;
  if (leaf.words.length > 1 || leaf.prefix || leaf.suffix) return false;
  const isWord = (piece: string) => (isHash.test(word) ? piece.startsWith(word) : piece === word);
  const runs = [...text.matchAll(/[A-Za-z0-9]+/g), ...text.matchAll(ESCAPED_RUN)].map((found) => found[1] ?? found[0]);
  return runs.some(
    (run) => run.length <= LONGEST_WORD && HUMP.test(run) && run.match(PIECE)?.some((piece) => isWord(piece.toLowerCase())),
  );
}

/** The first match that has matches of most other words near it. */
function bestSpan(text: string, leaves: Leaf[], inside: boolean): Span | null {
  const spans: [start: number, end: number, leaf: number][] = [];
  leaves.forEach((leaf, number) => {
    let count = 0;
    for (const found of text.matchAll(new RegExp(patternOf(leaf, inside), "giu"))) {
      if (count === MOST_MATCHES) break;
      count += 1;
      spans.push([found.index, found.index + found[0].length, number]);
    }
  });
  spans.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
  let best: { kinds: number; span: Span } | null = null;
  for (const [first, [start, end]] of spans.entries()) {
    const near = new Set<number>();
    for (const [, otherEnd, leaf] of spans.slice(first, first + MOST_MATCHES)) {
      if (near.size && otherEnd > start + 2 * AROUND) break;
      near.add(leaf);
    }
    if (!best || near.size > best.kinds) best = { kinds: near.size, span: [start, end] };
    if (best.kinds === leaves.length) break;
  }
  return best?.span ?? null;
}
