/** The query language, as far as it applies within a session; the rules of the server (`index/query.py`, `index/terms.py`). */

import { fold } from "./fold";

export interface Words {
  type: "words";
  words: string[];
  /** True if the last word may go on, or something may come before the first. */
  prefix: boolean;
  suffix: boolean;
}

/** Characters as they stand, in capitals or not; a space is any white space. */
export interface Exact {
  type: "exact";
  text: string;
}

export type QueryNode =
  | Words
  | Exact
  | { type: "kinds"; kinds: Set<string> }
  | { type: "named"; field: "tool" | "path"; words: string[] }
  | { type: "errors" }
  | { type: "not"; node: QueryNode }
  | { type: "and" | "or"; nodes: QueryNode[] };

interface Token {
  kind: "word" | "phrase" | "and" | "or" | "not" | "(" | ")";
  text: string;
  field: string;
}

/** Characters of scripts without spaces, as the inside of a character class. */
export const CJK =
  "\\u0e00-\\u0eff\\u1000-\\u109f\\u1780-\\u17ff\\u2e80-\\u2fdf\\u3005-\\u3007\\u3040-\\u30ff\\u3100-\\u318f\\u31a0-\\u31ff" +
  "\\u3400-\\u4dbf\\u4e00-\\u9fff\\uac00-\\ud7af\\uf900-\\ufaff\\uff66-\\uff9f\\u{20000}-\\u{3ffff}";
/** Emoji and signs like them, as the inside of a character class. */
export const EMOJI =
  "\\u203c\\u2049\\u231a\\u231b\\u2328\\u23cf\\u23e9-\\u23fa\\u25aa\\u25ab\\u25b6\\u25c0\\u25fb-\\u25fe\\u2600-\\u27bf" +
  "\\u2934\\u2935\\u2b05-\\u2b07\\u2b1b\\u2b1c\\u2b50\\u2b55\\u3030\\u303d\\u3297\\u3299\\u{1f000}-\\u{1faff}";
const WORD = new RegExp(`[${CJK}${EMOJI}]|(?:(?![${CJK}])[\\p{L}\\p{N}])+`, "gu");
const DEEPEST = 50;

const KINDS = ["prompt", "text", "thinking", "input", "result", "notice", "title", "request"];
const KIND_WORDS = ["prompts", "text", "thinking", "inputs", "results", "notices", "titles", "requests"];
const KIND_NAMES: Record<string, string> = {
  ...Object.fromEntries(KINDS.flatMap((kind, at) => [[kind, kind], [KIND_WORDS[at], kind]])),
  texts: "text",
  user: "prompt",
  answer: "text",
  answers: "text",
  assistant: "text",
  thought: "thinking",
  thoughts: "thinking",
  call: "input",
  calls: "input",
  command: "input",
  commands: "input",
  output: "result",
  outputs: "result",
  name: "title",
  system: "notice",
};

/** What each field means here; those without a meaning select whole sessions or times. */
const FIELDS: Record<string, ((text: string) => QueryNode) | null> = {
  tool: named("tool"),
  tools: named("tool"),
  file: named("path"),
  path: named("path"),
  in: kinds,
  kind: kinds,
  is: state,
  model: null,
  branch: null,
  project: null,
  session: null,
  tag: null,
  since: null,
  after: null,
  until: null,
  before: null,
  on: null,
};

const OPERATORS: Record<string, Token["kind"]> = { AND: "and", OR: "or", NOT: "not" };

/** The words of a text in order. */
export const wordsOf = (text: string): string[] => fold(text.normalize("NFC")).toLowerCase().match(WORD) ?? [];

/** The tree of a query; null if it asks for nothing. */
export function parseQuery(text: string): QueryNode | null {
  const tokens = tokensOf(text);
  let at = 0;
  const peek = () => tokens[at]?.kind;
  const ends = () => peek() === undefined || peek() === "or" || peek() === ")";

  function either(depth: number): QueryNode[] {
    const options = [sequence(depth)];
    while (peek() === "or") {
      at += 1;
      options.push(sequence(depth));
    }
    const given = options.flatMap((option) => joined("and", option) ?? []);
    return given.length > 1 ? [{ type: "or", nodes: given }] : given;
  }
  function sequence(depth: number): QueryNode[] {
    const nodes: QueryNode[] = [];
    while (!ends()) nodes.push(...one(depth));
    return nodes;
  }
  function one(depth: number): QueryNode[] {
    const token = tokens[at] as Token;
    at += 1;
    if (token.kind === "and") return [];
    if (token.kind === "not") {
      const node = ends() ? null : joined("and", one(depth));
      return node ? [{ type: "not", node }] : [];
    }
    if (token.kind === "(") {
      if (depth >= DEEPEST) throw new Error(`The query has more than ${DEEPEST} nested parentheses; use fewer.`);
      const inner = either(depth + 1);
      if (peek() === ")") at += 1;
      return inner;
    }
    if (token.field) {
      const node = FIELDS[token.field]?.(token.text);
      return node ? [node] : [];
    }
    if (token.kind === "phrase") {
      const text = token.text.trim().replace(/\s+/g, " ");
      return text ? [{ type: "exact", text }] : [];
    }
    const words = wordsOf(token.text);
    return words.length ? [{ type: "words", words, prefix: token.text.endsWith("*"), suffix: token.text.startsWith("*") }] : [];
  }

  const nodes: QueryNode[] = [];
  while (at < tokens.length) {
    nodes.push(...either(0));
    if (peek() === ")") at += 1;
  }
  return joined("and", nodes);
}

const joined = (type: "and" | "or", nodes: QueryNode[]): QueryNode | null =>
  nodes.length > 1 ? { type, nodes } : (nodes[0] ?? null);

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let depth = 0;
  for (let at = 0; at < text.length; ) {
    const character = text.charAt(at);
    if (/\s/.test(character)) {
      at += 1;
    } else if (character === "(" || character === ")") {
      tokens.push({ kind: character, text: "", field: "" });
      depth = Math.max(0, depth + (character === "(" ? 1 : -1));
      at += 1;
    } else if (character === "-" && /^[^\s-]/.test(text.slice(at + 1, at + 2))) {
      tokens.push({ kind: "not", text: "", field: "" });
      at += 1;
    } else {
      const [token, end] = wordAt(text, at, depth > 0);
      tokens.push(token);
      at = end;
    }
  }
  return tokens;
}

/** The word or phrase that begins here, with its field, and where it ends. */
function wordAt(text: string, start: number, inGroup: boolean): [Token, number] {
  let at = start;
  let field = "";
  const found = /^([a-z]+):(?=\S)/i.exec(text.slice(at, at + 12));
  const name = found?.[1]?.toLowerCase() ?? "";
  if (found && Object.hasOwn(FIELDS, name)) {
    field = name;
    at += found[0].length;
  }
  if (text.charAt(at) === '"') {
    const close = text.indexOf('"', at + 1);
    const end = close < 0 ? text.length : close;
    return [{ kind: "phrase", text: text.slice(at + 1, end), field }, end + 1];
  }
  let end = at;
  while (end < text.length && !/[\s"]/.test(text.charAt(end))) end += 1;
  const count = (word: string, character: string) => word.split(character).length;
  while (inGroup && text.charAt(end - 1) === ")" && count(text.slice(at, end), ")") > count(text.slice(at, end), "(")) end -= 1;
  const word = text.slice(at, end);
  const operator = field || !Object.hasOwn(OPERATORS, word) ? undefined : OPERATORS[word];
  return [{ kind: operator ?? "word", text: word, field }, end];
}

function named(field: "tool" | "path"): (text: string) => QueryNode {
  return (text) => {
    const options = text.split(",").map(wordsOf).filter((words) => words.length);
    const node = joined("or", options.map((words) => ({ type: "named", field, words })));
    if (!node) throw new Error(`Empty ${field} '${text}'; name one.`);
    return node;
  };
}

function kinds(text: string): QueryNode {
  const names = text.split(",").map((name) => name.trim().toLowerCase()).filter(Boolean);
  const unknown = names.filter((name) => !Object.hasOwn(KIND_NAMES, name));
  if (unknown.length || !names.length) {
    throw new Error(`Unknown kind '${unknown.join(", ") || text}'; use ${KIND_WORDS.join(", ")}.`);
  }
  return { type: "kinds", kinds: new Set(names.map((name) => KIND_NAMES[name] as string)) };
}

function state(text: string): QueryNode {
  const word = text.toLowerCase();
  if (["error", "errors", "failed", "failure"].includes(word)) return { type: "errors" };
  if (Object.hasOwn(KIND_NAMES, word)) return kinds(word);
  throw new Error(`Unknown state is:${text}; use is:error.`);
}
