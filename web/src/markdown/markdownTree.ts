/** Markdown as a tree of plain values: no raw HTML, and nothing that loads by itself. Runs in the page and in its worker. */

import MarkdownIt, { type StateBlock, type Token } from "markdown-it";
import { LANGUAGES } from "./markdownText";
import { passages } from "../kit/directions";

export type MarkdownNode = string | MarkdownElement;

export interface MarkdownElement {
  /** The element's name; `image` and `task` for those that become a link and a box. */
  tag: string;
  children: MarkdownNode[];
  /** The target of a link or an image. */
  url?: string;
  /** The title of a link, which is shown after it. */
  title?: string;
  /** The language of a code block. */
  language?: string;
  /** The first number of a list. */
  start?: number;
  /** The alignment of a table's cell. */
  align?: string;
  /** Whether a task is done. */
  done?: boolean;
}

// No extensions by guess: `README.md` is no address.
const parser = new MarkdownIt({ html: false, linkify: true });
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });
parser.disable("reference"); // a definition is shown where it stands: its words may be nowhere else
parser.validateLink = () => true; // a link to an unsafe address is drawn as text

// By its own rule, a table drops the cells of a row that are more than its header has; render/highlight.py does the same.
const [table] = new MarkdownIt("zero").enable("table").block.ruler.getRules("");
parser.block.ruler.at(
  "table",
  (state, start, end, silent) => {
    const before = state.tokens.length;
    if (!table?.(state, start, end, silent)) return false;
    if (!silent) addDroppedCells(state, before);
    return true;
  },
  { alt: ["paragraph", "reference"] },
);

/** Write the tokens of a table, from `start` on, anew with the cells that were dropped, below an empty header. */
function addDroppedCells(state: StateBlock, start: number): void {
  const tokens = state.tokens.slice(start);
  const shown = tokens.filter(({ type }) => type === "th_open").length;
  const rows = tokens.flatMap(({ type, map }) => (type === "tr_open" && map ? [map[0]] : []));
  const dropped = rows.map((line, n) => (n ? cellsOf(state, line).slice(shown) : []));
  const most = dropped.reduce((found, { length }) => Math.max(found, length), 0);
  if (!most) return;
  dropped[0] = Array<string>(most).fill("");
  state.tokens.length = start;
  let row = 0;
  for (const token of tokens) {
    if (token.type === "tr_close") {
      for (const content of dropped[row] ?? []) pushCell(state, row ? "td" : "th", content);
      row += 1;
    }
    state.tokens.push(token);
  }
}

function pushCell(state: StateBlock, tag: string, content: string): void {
  state.push(`${tag}_open`, tag, 1);
  Object.assign(state.push("inline", "", 0), { content, children: [] });
  state.push(`${tag}_close`, tag, -1);
}

/** The cells of a row, split as the rule for tables does: at each bar that no backslash is before. */
function cellsOf(state: StateBlock, line: number): string[] {
  const from = (state.bMarks[line] ?? 0) + (state.tShift[line] ?? 0);
  const cells = state.src.slice(from, state.eMarks[line]).trim().split(/(?<!\\)\|/);
  if (!cells[0]) cells.shift();
  if (cells.length && !cells.at(-1)) cells.pop();
  return cells.map((cell) => cell.replaceAll("\\|", "|").trim());
}

/** The tree of a text. Nesting is limited, so that no text can make it deep. */
export function markdownTree(text: string): MarkdownNode[] {
  const root: MarkdownElement = { tag: "", children: [] };
  const open: MarkdownElement[] = [root];
  for (const token of parser.parse(text, {})) addToken(token, open);
  return root.children;
}

const top = (open: MarkdownElement[]): MarkdownElement => open.at(-1) as MarkdownElement;

/** Add a token to the innermost open element, or open or close one. */
function addToken(token: Token, open: MarkdownElement[]): void {
  const { children } = top(open);
  if (token.type === "inline") {
    for (const inner of token.children ?? []) addToken(inner, open);
    markTask(open);
  } else if (token.nesting === 1) {
    // The paragraphs of a tight list are not drawn; their content goes to the item.
    const element = token.hidden ? { ...top(open), hidden: true } : opened(token);
    if (!token.hidden) children.push(element);
    open.push(element);
  } else if (token.nesting === -1) {
    const closed = open.pop();
    if (closed?.title) top(open).children.push(titleText(closed.title));
  } else addLeaf(token, children);
}

function opened(token: Token): MarkdownElement {
  const element: MarkdownElement = { tag: token.tag, children: [] };
  const url = token.attrGet("href");
  if (url !== null) element.url = String(url);
  const title = token.attrGet("title");
  if (title) element.title = String(title);
  const start = token.attrGet("start");
  if (start !== null) element.start = Number(start);
  const align = /text-align:(left|center|right)/.exec(String(token.attrGet("style")))?.[1];
  if (align) element.align = align;
  return element;
}

function addLeaf(token: Token, children: MarkdownNode[]): void {
  switch (token.type) {
    case "text":
      if (token.content) children.push(token.content);
      break;
    case "softbreak":
      children.push("\n");
      break;
    case "code_inline":
      children.push({ tag: "code", children: [token.content] });
      break;
    case "fence":
    case "code_block":
      children.push(codeBlock(token.info.trim(), token.content));
      break;
    case "image":
      children.push({ tag: "image", url: String(token.attrGet("src") ?? ""), children: [token.content] });
      if (token.attrGet("title")) children.push(titleText(String(token.attrGet("title"))));
      break;
    case "hardbreak":
    case "hr":
      children.push({ tag: token.tag, children: [] });
      break;
    default:
      if (token.content) children.push(token.content);
  }
}

const titleText = (title: string): string => ` (${title})`;

/** A block of code; on its opening line, what is more than a language is code, too. */
function codeBlock(info: string, content: string): MarkdownElement {
  const language = LANGUAGES.has(info.toLowerCase()) ? info : "";
  return { tag: "pre", language, children: [info && !language ? `${info}\n${content}` : content] };
}

/** Turn `[ ]` or `[x]` at the start of a list item into a box. */
function markTask(open: MarkdownElement[]): void {
  const item = open.findLast(({ tag }) => tag === "li");
  const [first] = top(open).children;
  if (!item || typeof first !== "string" || top(open).children[0] !== first) return;
  const mark = /^\[([ xX])\]\s/.exec(first);
  const isFirst = item.children === top(open).children || item.children[0] === top(open);
  if (!mark || !isFirst) return;
  top(open).children.splice(0, 1, { tag: "task", done: mark[1] !== " ", children: [] }, ` ${first.slice(mark[0].length)}`);
}

/** Roughly how many characters take as long to draw as an element. */
const CHARS_PER_ELEMENT = 50;

/** The beginning of a tree that costs at most `budget` elements to draw, and whether that is all of it. */
export function cutTree(nodes: MarkdownNode[], budget: number): { nodes: MarkdownNode[]; whole: boolean } {
  let left = budget;
  let whole = true;
  const cut = (node: MarkdownNode): MarkdownNode | null => {
    if (left <= 0) {
      whole = false;
      return null;
    }
    left -= 1;
    if (typeof node !== "string") return { ...node, children: all(node.children) };
    const room = Math.max(1, left) * CHARS_PER_ELEMENT;
    left -= Math.ceil(node.length / CHARS_PER_ELEMENT) - 1 + passages(node);
    whole &&= node.length <= room;
    return node.length > room ? node.slice(0, room) : node;
  };
  const all = (children: MarkdownNode[]): MarkdownNode[] => {
    const kept: MarkdownNode[] = [];
    for (const child of children) {
      const found = cut(child);
      if (found === null) break;
      kept.push(found);
    }
    return kept;
  };
  const kept = all(nodes);
  return { nodes: kept, whole };
}
