/** Text as Markdown that its content cannot break out of: the rules of `render/markdown_text.py`, with the same cases. */

const CONTROL =
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u00ad\u180e\ufff9-\ufffb\u2028\u2029\u200b\u2060-\u2065\u206a-\u206f\ufeff\u{e0000}-\u{e007f}\ud800-\udfff]/gu;
const FENCE = /^([ \t]*)((?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}|~{3,})(.*)$/;
const QUOTE = /^ {0,3}>[ ]?/;
/** What the opening line of a fence may name besides code; any other word there is shown, since views may hide it. */
export const LANGUAGES = new Set(
  `ada apl asm assembly astro awk bash bat batch bicep bzl c c# c++ cc cjs clj clojure cmake cmd cobol coffee
    coffeescript conf console cpp crystal cs csharp csh css csv cts cu cuda cxx cypher cython d dart diff docker
    dockerfile dot dotenv edn elisp elixir elm env erb erl erlang ex exs f# fish fortran fs fsharp gcode
    gdscript gherkin git gitignore glsl go golang gql gradle graphql graphviz groovy h haml handlebars haskell
    hbs hcl heex hlsl hpp hs htm html http hxx ignore ini ipynb j2 jade java javascript jinja jinja2 jl jq js
    json json5 jsonc jsonl jsonnet jsx julia jupyter kotlin kt kts latex less liquid lisp llvm log lua m make
    makefile markdown math matlab md mdx mermaid meson mips mjs ml mts nasm ndjson nginx nim nix none objc
    objective-c objectivec ocaml output pascal patch perl pgsql php pl plain plaintext plantuml plist plsql
    postgres postgresql powershell prisma prolog promql properties proto protobuf ps1 pseudo pseudocode psql pug
    puml purescript pwsh py py3 pycon python python3 qml r rb re reason regex rego rest rkt robot rs rst ruby
    rust sass scala scheme scss sed sh shell shell-session shellscript smali sol solidity sparql sql sqlite
    starlark styl stylus sv svelte svg swift systemverilog tcl tcsh terminal terraform tex text tf tla toml ts
    tsql tsv tsx twig txt typescript vb vba vbnet verilog vhdl vim viml vimscript vue wasm wast wat wgsl wsdl
    xhtml xml xsd xslt yaml yml zig zsh`.split(/\s+/),
);
const AUTOLINK = /<https?:\/\/[^\s<>`|]+>/y;
/** An entity that could stand for an invisible character. */
const ENTITY = "&(?!(?:lt|gt|amp|quot|nbsp);)(?:#[\\p{L}\\p{N}_]{1,10}|[\\p{L}\\p{N}_]{1,40});";
const ENTITY_HERE = new RegExp(ENTITY, "uy");
const ENTITIES = new RegExp(ENTITY, "gu");
const LINK_TARGET =
  /\]\((?:(?:https?:\/\/|mailto:)(?:[^\s`\\<>|()]|\([^\s`\\<>|()]*\))*|[^\s`\\<>|()&:]*)(?: "[^"`\\<>|\n]*")?\)/iy;
const ADDRESS = /:\/\/|www\.|mailto:|xmpp:/i;
const SPECIAL = /[\\`<&!\]]|\[(?=\^)/g;
const ACTIVE = /[\\`*_[\]<>#|~]/g;
/** What acts outside of code: HTML, links, pictures, footnotes, invisible characters. */
const LIVE = new RegExp(`<|\\]\\(|!\\[|\\[\\^|${ENTITY}`, "u");
const IN_ELEMENT = /[\\`*_[\]<&|~]/g;
/** Signs that a backslash does not guard: in an address it is a letter, and `<` behind it is live. */
const ENTITIES_OF: Record<string, string> = { "<": "&lt;", "&": "&amp;", "`": "&#96;", "\\": "&#92;" };
const LIST_START = /^(\d{0,9})([-+.)=])(?=[-= ]*$| )/;
const PUNCTUATION = new Set("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~");
const ALPHABETIC = /^\p{L}/u;
const ESCAPES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;" };
/** Quotes within quotes beyond this are shown as text. */
const DEEPEST_QUOTE = 5;
/** Lists within lists beyond this are taken for text. */
const DEEPEST_ITEM = 50;
const ITEM = /^(?:[-*+]|\d{1,9}[.)])(?=[ \t]|$)/;
/** A heading, its underline or a rule: code can begin right after it. */
const HEADING = /^(?:#{1,6}(?=[ \t]|$)|(?:(?:=+|-+)[ \t]*|(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$)/;
const LINE_BREAK = /[ \t]*\n[ \t]*/g;
/** Columns to the next stop of a tab, and those by which code is indented. */
const TAB = 4;

/** Text with control characters and direction overrides made visible. */
export const safe = (text: string): string =>
  text
    .split("\n")
    .map((line) => line.replace(/\r+$/, ""))
    .join("\n")
    .replace(CONTROL, visibleCode);

function visibleCode(character: string): string {
  const number = character.codePointAt(0) ?? 0;
  const code = (digits: number) => number.toString(16).padStart(digits, "0");
  return number < 0x100 ? `\\x${code(2)}` : number < 0x10000 ? `\\u${code(4)}` : `\\U${code(8)}`;
}

const oneLine = (text: string): string => text.split(/\s+/).filter(Boolean).join(" ");

/** Text that stays closed until the reader opens it. */
export const folded = (title: string, text: string): string =>
  `<details><summary>${safe(oneLine(title)).replace(/[&<>"']/g, (sign) => ESCAPES[sign] ?? sign)}</summary>\n\n${text}\n\n</details>`;

/** Text in a fence longer than any in it. */
export function fenced(text: string): string {
  const fence = fenceAround([text]);
  return `${fence}\n${safe(text)}\n${fence}`;
}

/** A short text within a line; nothing in it acts as Markdown or HTML. */
export const inline = (text: string): string =>
  oneLine(safe(text)).replace(ENTITIES, "\\$&").replace(ACTIVE, "\\$&").replace(LIST_START, "$1\\$2");

/** Each line of a text after `> `. */
export const quoted = (text: string): string =>
  text
    .split("\n")
    .map((line) => `> ${line}`.trimEnd())
    .join("\n");

/** Markdown from a transcript: its HTML is shown as text, its pictures are links, its code is fenced anew. */
export const guarded = (text: string): string => guardedLines(safe(text).split("\n"), DEEPEST_QUOTE).join("\n");

function guardedLines(lines: string[], quotes: number): string[] {
  const out: string[] = [];
  const items = new ListItems();
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] as string;
    const codeColumn = items.enter(line);
    const fence = openingFence(line);
    if (quotes && QUOTE.test(line)) {
      const inner: string[] = [];
      for (; at < lines.length && QUOTE.test(lines[at] as string); at += 1) inner.push((lines[at] as string).replace(QUOTE, ""));
      for (const inside of guardedLines(inner, quotes - 1)) out.push(inside ? `> ${inside}` : ">");
    } else if (fence) {
      const [, space = "", item = "", ticks = "", info = ""] = fence;
      const before = expandTabs(space) + (item ? `${item.trim()} ` : "");
      const end = closingFence(lines, at + 1, ticks, before.length + TAB);
      if (at && !isBlank(lines[at - 1] as string)) out.push("");
      const code = lines.slice(at + 1, end).map((each) => outdented(each, before.length));
      out.push(...refenced(before, info.trim(), code));
      items.inParagraph = false;
      at = end + 1;
    } else if (codeColumn !== undefined) {
      const end = codeEnd(lines, at, codeColumn + TAB);
      if (at && !isBlank(lines[at - 1] as string)) out.push("");
      const code = lines.slice(at, end).map((each) => outdented(each, codeColumn + TAB));
      out.push(...refenced(" ".repeat(codeColumn), "", code));
      at = end;
    } else {
      const end = line.includes("`") ? paragraphEnd(lines, at) : at + 1;
      out.push(guardedParagraph(lines.slice(at, end).join("\n")));
      at = end;
    }
  }
  return out;
}

const isBlank = (line: string): boolean => /^[ \t]*$/.test(line);

function openingFence(line: string): RegExpExecArray | undefined {
  const fence = FENCE.exec(line);
  return fence && !(fence[3]?.startsWith("`") && fence[4]?.includes("`")) ? fence : undefined;
}

/** The line that closes a fence; one that begins at `column` or behind it is code. */
function closingFence(lines: string[], start: number, opening: string, column: number): number {
  const [sign] = opening;
  for (let at = start; at < lines.length; at += 1) {
    const line = lines[at] as string;
    const found = line.replace(/^[ \t]+/, "").replace(/[ \t]+$/, "");
    if (found.length >= opening.length && [...found].every((other) => other === sign) && indentation(line) < column) return at;
  }
  return lines.length;
}

/** Where code ends that is indented up to this column; blank lines behind it are no part of it. */
function codeEnd(lines: string[], start: number, column: number): number {
  let end = start;
  for (let at = start; at < lines.length; at += 1) {
    if (isBlank(lines[at] as string)) continue;
    if (indentation(lines[at] as string) < column) break;
    end = at + 1;
  }
  return end;
}

/** Where the paragraph of a line ends, as far as code can reach; each row of a table is one of its own. */
function paragraphEnd(lines: string[], start: number): number {
  let end = start + 1;
  for (; end < lines.length && !`${lines[end - 1]}${lines[end]}`.includes("|"); end += 1) {
    const inside = (lines[end] as string).replace(/^[ \t]+/, "");
    if (!inside || QUOTE.test(inside) || ITEM.test(inside) || HEADING.test(inside) || openingFence(inside)) break;
  }
  return end;
}

/** The code with each line as far in as its fence, so that no line can leave a list item and with it the fence. */
function refenced(before: string, info: string, body: string[]): string[] {
  const indent = " ".repeat(before.length);
  const language = LANGUAGES.has(info.toLowerCase()) ? info : "";
  // What is more than a language is code: "```TypeError: x is undefined" is how people paste an error.
  const code = info && !language ? [info, ...body] : body;
  const fence = fenceAround(code);
  const lines = code.map((line) => (line ? `${indent}${line}` : ""));
  return [`${before}${fence}${language}`, ...lines, `${indent}${fence}`];
}

const indentation = (line: string): number => expandTabs(/^[ \t]*/.exec(line)?.[0] ?? "").length;

/** A line without so many columns of its indentation; the rest of it is as written. */
function outdented(line: string, columns: number): string {
  let at = 0;
  let column = 0;
  for (; column < columns && (line[at] === " " || line[at] === "\t"); at += 1) {
    column += line[at] === " " ? 1 : TAB - (column % TAB);
  }
  return " ".repeat(Math.max(0, column - columns)) + line.slice(at);
}

/** Where the text of the open list items begins: what is four columns further in, and continues nothing, is code. */
class ListItems {
  inParagraph = false;
  private readonly columns: number[] = [];

  /** Take the next line that is not known to be code; return the column of its block if it turns out to be. */
  enter(line: string): number | undefined {
    let inside = line.replace(/^[ \t]+/, "");
    if (!inside) {
      this.inParagraph = false;
      return undefined;
    }
    let column = indentation(line);
    const isText = this.inParagraph && !ITEM.test(inside);
    while (column < (this.columns.at(-1) ?? 0) && !isText) this.columns.pop();
    const start = this.columns.at(-1) ?? 0;
    if (column >= start + TAB) return this.inParagraph ? undefined : start;
    this.inParagraph = !HEADING.test(inside);
    while (this.inParagraph && this.columns.length < DEEPEST_ITEM) {
      const item = ITEM.exec(inside);
      if (!item) break;
      const rest = inside.slice(item[0].length);
      const gap = indentation(rest);
      inside = rest.replace(/^[ \t]+/, "");
      this.inParagraph = inside !== "";
      column += item[0].length + (inside && gap <= TAB ? gap : 1);
      this.columns.push(column);
    }
    return undefined;
  }
}

function expandTabs(space: string): string {
  let out = "";
  for (const character of space) out += character === "\t" ? " ".repeat(TAB - (out.length % TAB)) : character;
  return out;
}

function fenceAround(lines: string[]): string {
  let longest = 0;
  for (const line of lines) for (const [run] of line.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  return "`".repeat(Math.max(3, 1 + longest));
}

interface Piece {
  text: string;
  isCode: boolean;
}

/** Lines of a paragraph whose code spans end where they start: in one line. */
function guardedParagraph(paragraph: string): string {
  const pieces = piecesOf(paragraph).map(({ text, isCode }) => ({ text: isCode ? text.replace(LINE_BREAK, " ") : text, isCode }));
  const spans = pieces.filter(({ isCode }) => isCode);
  // A table splits its row at every bar, also in code; what is behind the bar would then be live.
  const split = spans.some(({ text }) => text.includes("|")) && spans.some(({ text }) => LIVE.test(text));
  return pieces.map(({ text, isCode }) => (split && isCode && text.includes("|") ? codeElement(text) : text)).join("");
}

/** The line's code spans as written, and what is between them, escaped. */
function piecesOf(line: string): Piece[] {
  const runs = new TickRuns(line);
  const pieces: Piece[] = [];
  let between = "";
  let at = 0;
  for (;;) {
    SPECIAL.lastIndex = at;
    const found = SPECIAL.exec(line);
    if (!found) break;
    between += line.slice(at, found.index);
    at = found.index;
    const partner = found[0] === "`" ? runs.partner(at) : undefined;
    if (found[0] !== "`") {
      const [shown, end] = escaped(line, at);
      between += shown;
      at = end;
    } else if (partner === undefined) {
      const end = runs.end(at);
      between += "\\`".repeat(end - at);
      at = end;
    } else {
      pieces.push({ text: between, isCode: false }, { text: line.slice(at, partner), isCode: true });
      between = "";
      at = partner;
    }
  }
  return [...pieces, { text: between + line.slice(at), isCode: false }];
}

function matchAt(pattern: RegExp, line: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(line)?.[0];
}

/** The escaped form of what starts at a special character, and where it ends. */
function escaped(line: string, at: number): [shown: string, end: number] {
  const sign = line[at] as string;
  const following = line[at + 1] ?? "";
  switch (sign) {
    case "\\":
      if (following === "<") return ["&lt;", at + 2];
      return PUNCTUATION.has(following) ? [line.slice(at, at + 2), at + 2] : [sign, at + 1];
    case "<": {
      const link = matchAt(AUTOLINK, line, at);
      if (link) return [link, at + link.length];
      const tag = !following || ALPHABETIC.test(line.slice(at + 1, at + 3)) || "/!?\n".includes(following);
      return [tag ? "&lt;" : sign, at + 1];
    }
    case "&":
      return [matchAt(ENTITY_HERE, line, at) ? "&amp;" : sign, at + 1];
    case "[":
      return ["\\[", at + 1];
    case "!":
      return [following === "[" ? "\\!" : sign, at + 1];
    default: {
      const target = following === "(" ? matchAt(LINK_TARGET, line, at) : undefined;
      if (target) return [target, at + target.length];
      return [following && "(:".includes(following) ? "\\]" : sign, at + 1];
    }
  }
}

function codeElement(span: string): string {
  const body = span.replace(/^`+/, "").replace(/`+$/, "");
  const inner = body.startsWith(" ") && body.endsWith(" ") && body.trim() ? body.slice(1, -1) : body;
  return `<code>${inner.replace(IN_ELEMENT, (sign) => ENTITIES_OF[sign] ?? `\\${sign}`)}</code>`;
}

/** The runs of backticks in a line, and for each the next run of the same length.
 *
 * A run that touches a bare address opens nothing: forges take it for a part of the link.
 */
class TickRuns {
  private readonly ends = new Map<number, number>();
  private readonly partners = new Map<number, number>();

  constructor(line: string) {
    const runs = [...line.matchAll(/`+/g)].map(({ index, 0: run }): [number, number] => [index, index + run.length]);
    const nearest = new Map<number, number>();
    for (const [start, end] of runs.toReversed()) {
      // An escaped backtick is no part of a run, which then begins at its second one.
      for (const begin of [start, start + 1]) {
        this.ends.set(begin, end);
        const partner = nearest.get(end - begin);
        if (partner !== undefined) this.partners.set(begin, partner);
      }
      nearest.set(end - start, end);
    }
    this.closeAddresses(line, runs);
  }

  private closeAddresses(line: string, runs: [number, number][]): void {
    let at = 0;
    let inAddress = false;
    for (const [start, end] of runs) {
      const between = line.slice(at, start);
      const word = between.slice(Math.max(...[" ", "\t", "\n"].map((space) => between.lastIndexOf(space))) + 1);
      inAddress = ADDRESS.test(word) || (inAddress && word.length === between.length);
      if (inAddress) {
        this.partners.delete(start);
        this.partners.delete(start + 1);
      }
      at = end;
    }
  }

  /** The end of the run that starts there. */
  end(start: number): number {
    return this.ends.get(start) ?? start + 1;
  }

  /** The end of the run that closes the one that starts there; undefined if it stays open. */
  partner(start: number): number | undefined {
    return this.partners.get(start);
  }
}
