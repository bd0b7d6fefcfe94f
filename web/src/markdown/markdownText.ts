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
  /\]\((?:(?:https?:\/\/|mailto:)(?:[^\s`\\<>|()]|\([^\s`\\<>|()]*\))*|[^\s`\\<>|()&:]*)(?: "[^"`\\<>|]*")?\)/iy;
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
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] as string;
    const fence = FENCE.exec(line);
    if (quotes && QUOTE.test(line)) {
      const inner: string[] = [];
      for (; at < lines.length && QUOTE.test(lines[at] as string); at += 1) inner.push((lines[at] as string).replace(QUOTE, ""));
      for (const inside of guardedLines(inner, quotes - 1)) out.push(`> ${inside}`.replace(/ +$/, ""));
    } else if (fence && !(fence[3]?.startsWith("`") && fence[4]?.includes("`"))) {
      const end = closingFence(lines, at + 1, fence[3] as string);
      if (at && !isBlank(lines[at - 1] as string)) out.push("");
      out.push(...refenced(fence, lines.slice(at + 1, end)));
      at = end + 1;
    } else {
      out.push(guardedLine(line));
      at += 1;
    }
  }
  return out;
}

const isBlank = (line: string): boolean => /^[ \t]*$/.test(line);

function closingFence(lines: string[], start: number, opening: string): number {
  const [sign] = opening;
  for (let at = start; at < lines.length; at += 1) {
    const found = (lines[at] as string).replace(/^[ \t]+/, "").replace(/[ \t]+$/, "");
    if (found.length >= opening.length && [...found].every((other) => other === sign)) return at;
  }
  return lines.length;
}

/** The code with each line as far in as its fence, so that no line can leave a list item and with it the fence. */
function refenced([, space = "", item = "", , info = ""]: RegExpExecArray, body: string[]): string[] {
  const before = expandTabs(space) + (item ? `${item.trim()} ` : "");
  const indent = " ".repeat(before.length);
  const first = info.trim();
  const language = LANGUAGES.has(first.toLowerCase()) ? first : "";
  // What is more than a language is code: "```TypeError: x is undefined" is how people paste an error.
  const code = first && !language ? [`${indent}${first}`, ...body] : body;
  const fence = fenceAround(code);
  const lines = code.map((line) => {
    const inside = line.replace(/^[ \t]+/, "");
    const own = expandTabs(line.slice(0, line.length - inside.length));
    return inside ? `${indent}${own.slice(indent.length)}${inside}` : "";
  });
  return [`${before}${fence}${language}`, ...lines, `${indent}${fence}`];
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

/** One line of Markdown whose code spans end where they start: in this line. */
function guardedLine(line: string): string {
  const pieces = piecesOf(line);
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
      const tag = !following || ALPHABETIC.test(line.slice(at + 1, at + 3)) || "/!?".includes(following);
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
      const word = between.slice(Math.max(between.lastIndexOf(" "), between.lastIndexOf("\t")) + 1);
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
