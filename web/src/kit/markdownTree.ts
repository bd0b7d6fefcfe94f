/** Markdown as a tree of plain values: no raw HTML, and nothing that loads by itself. Runs in the page and in its worker. */

import MarkdownIt, { type Token } from "markdown-it";

export type MarkdownNode = string | MarkdownElement;

export interface MarkdownElement {
  /** The element's name; `image` and `task` for those that become a link and a box. */
  tag: string;
  children: MarkdownNode[];
  /** The target of a link or an image. */
  url?: string;
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
parser.validateLink = () => true; // a link to an unsafe address is drawn as text

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
  } else if (token.nesting === -1) open.pop();
  else addLeaf(token, children);
}

function opened(token: Token): MarkdownElement {
  const element: MarkdownElement = { tag: token.tag, children: [] };
  const url = token.attrGet("href");
  if (url !== null) element.url = String(url);
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
      children.push({ tag: "pre", language: token.info.trim().split(/\s/, 1)[0] ?? "", children: [token.content] });
      break;
    case "image":
      children.push({ tag: "image", url: String(token.attrGet("src") ?? ""), children: [token.content] });
      break;
    case "hardbreak":
    case "hr":
      children.push({ tag: token.tag, children: [] });
      break;
    default:
      if (token.content) children.push(token.content);
  }
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
    left -= Math.ceil(node.length / CHARS_PER_ELEMENT) - 1;
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
