/** The worker that parses Markdown and highlights code, so that no text can freeze the page. */

import { tokenLines } from "./highlighter";
import { markdownTree, type MarkdownNode } from "../markdown/markdownTree";
import type { Task } from "./offThread";

/** Larger trees are not sent: unpacking them would take the page longer than it may. */
const LARGEST = 30_000;
/** Lines with more tokens are sent without them, for the same reason. */
const MOST_TOKENS = 400;

addEventListener("message", ({ data }: MessageEvent<Task>) => {
  if (data.kind === "markdown") {
    const tree = markdownTree(data.text);
    postMessage(sizeOf(tree) > LARGEST ? null : tree);
  } else {
    postMessage(tokenLines(data.text, data.language)?.map((line) => (line.length > MOST_TOKENS ? null : line)) ?? null);
  }
});

const sizeOf = (nodes: MarkdownNode[]): number =>
  nodes.reduce((sum, node) => sum + 1 + (typeof node === "string" ? 0 : sizeOf(node.children)), 0);
