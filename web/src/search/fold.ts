/** Letters without accents, ligatures and other forms of the same letter; the rules of the server (`index/terms.py`). */

/** Letters that are also written with others, and that Unicode does not take apart. */
const LETTERS: Record<string, string> = {
  ß: "ss", æ: "ae", œ: "oe", ø: "o", ł: "l", đ: "d", ð: "d", þ: "th", ħ: "h", ı: "i", ς: "σ",
};

/** The first and the last of characters that are also written with others. */
const ACCENTED: [number, number][] = [
  [0xa0, 0x52f], [0x1d00, 0x1fff], [0x2070, 0x209f], [0x2100, 0x218f], [0x2460, 0x24ff], [0xfb00, 0xfb06], [0xff01, 0xff5e], [0x1d400, 0x1d7ff],
];

/** The first and the last of characters that have marks among them. */
const SCRIPTS: [number, number][] = [[0x591, 0xdff], [0x1ab0, 0x1cff], [0x20d0, 0x20ff], [0xfe00, 0xfe2f]];

const isIn = (code: number, ranges: [number, number][]): boolean => ranges.some(([first, last]) => first <= code && code <= last);
const known = new Map<string, string>();

export function foldCharacter(character: string): string {
  let folded = known.get(character);
  if (folded === undefined) {
    const code = character.codePointAt(0) ?? 0;
    folded = character;
    if (isIn(code, SCRIPTS)) folded = /\p{M}/u.test(character) ? "" : character;
    else if (isIn(code, ACCENTED)) {
      const lower = [...character.normalize("NFKD").toLowerCase()].map((letter) => LETTERS[letter] ?? letter);
      folded = lower.join("").normalize("NFKD").replace(/[\u0300-\u036f]/g, "");
    }
    known.set(character, folded);
  }
  return folded;
}

/** Kana in half width: a sound mark is a character of its own there, so two may become one. */
const HALF_WIDTH = /[\uff66-\uff9f]+/g;
const CHARACTERS = /[\uff66-\uff9f][\uff9e\uff9f]?|[^]/gu;

export const fold = (text: string): string =>
  text.replace(HALF_WIDTH, (run) => run.normalize("NFKC")).replace(/[^\0-\x7f]/gu, foldCharacter);

/** Where in a text the characters are that become the characters from `start` to `end` of the folded one. */
export function unfolded(text: string, start: number, end: number): [start: number, end: number] {
  let from = 0;
  let at = 0;
  let place = 0;
  for (const character of text.match(CHARACTERS) ?? []) {
    const next = place + fold(character).length;
    if (place <= start) from = at;
    if (place >= end) break;
    place = next;
    at += character.length;
  }
  return [from, at];
}

let forms: Map<string, string> | null = null;

/** The other characters that are written with one letter without its accents. */
function formsOf(letter: string): string {
  if (!forms) {
    forms = new Map();
    for (const [first, last] of [...ACCENTED, [0xff66, 0xff9f]] as const) {
      for (let code = first; code <= last; code += 1) {
        const character = String.fromCodePoint(code);
        const folded = fold(character);
        if (folded && folded !== character) forms.set(folded, (forms.get(folded) ?? "") + character);
      }
    }
  }
  return forms.get(letter) ?? "";
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");

/** A pattern for one letter as it may be written: a kana with a sound mark is two characters in half width. */
function formPattern(letter: string): string {
  const one = `[${escaped(letter + formsOf(letter))}]`;
  const [kana = "", mark = ""] = letter.normalize("NFD");
  const pair = formsOf(kana) + formsOf(mark);
  return mark && pair.length === 2 ? `(?:${one}|${pair})` : one;
}

/** A pattern for a folded word as it may be written, with accents and ligatures. */
export function writtenPattern(word: string): string {
  const letters = [...word];
  let pattern = "";
  for (let at = 0; at < letters.length; ) {
    const length = [3, 2].find((count) => at + count <= letters.length && formsOf(letters.slice(at, at + count).join(""))) ?? 1;
    const own = letters.slice(at, at + length);
    const single = own.map((letter) => `${formPattern(letter)}\\p{M}*`).join("");
    const several = length > 1 ? formsOf(own.join("")) : "";
    pattern += several ? `(?:${single}|[${several}]\\p{M}*)` : single;
    at += length;
  }
  return pattern;
}
