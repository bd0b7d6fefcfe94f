/** Work on texts in a worker: one at a time, and each only for a while. What takes longer is shown as plain text. */

import type { Token } from "./highlighter";
import { Lru } from "./lru";
import { setWorker, startWorker } from "./workerStart";
import { markdownTree, type MarkdownNode } from "../markdown/markdownTree";

export type Task = { kind: "markdown"; text: string } | { kind: "highlight"; text: string; language: string };

/** The tokens of each line; null for a line that has too many. */
export type HighlightedLines = (Token[] | null)[];

/** How long one text may take, in milliseconds. */
const PATIENCE = 3000;
/** Texts up to this length are parsed at once. */
const SHORT = 8000;
/** How much of a frame parsing may take, in milliseconds; what comes later goes to the worker, and moves what is below it. */
const FRAME_SHARE = 12;
/** The same for the first texts of a page, or after a pause: nothing of it is on the screen yet. */
const FIRST_SHARE = 150;
const PAUSE = 500;

let worker: Worker | null = null;
let last: Promise<unknown> = Promise.resolve();

/** The result of a task; null if it takes too long, fails, or no worker can be started. */
function ask<T>(task: Task): Promise<T | null> {
  const answer = last.then(() => run<T>(task));
  last = answer;
  return answer;
}

function run<T>(task: Task): Promise<T | null> {
  return new Promise((resolve) => {
    let timer = 0;
    const end = (result: T | null, failed: boolean) => {
      clearTimeout(timer);
      if (failed) {
        worker?.terminate();
        worker = null;
      }
      resolve(result);
    };
    try {
      worker ??= startWorker();
    } catch {
      setWorker(null); // a policy that forbids workers: it will not change
    }
    if (!worker) return end(null, false);
    worker.onmessage = ({ data }: MessageEvent<T | null>) => end(data, false);
    worker.onerror = (event) => {
      event.preventDefault();
      end(null, true);
    };
    timer = window.setTimeout(() => end(null, true), PATIENCE);
    worker.postMessage(task);
  });
}

const trees = new Lru<string, MarkdownNode[] | null>(300);
const highlights = new Lru<string, HighlightedLines | null>(400);

let spent = 0;
let share = FIRST_SHARE;
let parsed = -PAUSE;
let frame = 0;
let printing = false;

/** The tree of a text if it is known or quickly made; null if it takes too long, undefined if the worker has to make it. */
export function treeNow(text: string): MarkdownNode[] | null | undefined {
  const known = trees.get(text);
  if (known !== undefined) return known;
  const began = performance.now();
  if (spent === 0) share = began - parsed < PAUSE ? FRAME_SHARE : FIRST_SHARE;
  if (!printing && (text.length > SHORT || spent > share)) return undefined;
  const tree = markdownTree(text);
  parsed = performance.now();
  spent += parsed - began;
  frame ||= requestAnimationFrame(() => {
    spent = 0;
    frame = 0;
  });
  trees.set(text, tree);
  return tree;
}

export async function treeLater(text: string): Promise<MarkdownNode[] | null> {
  const made = await ask<MarkdownNode[]>({ kind: "markdown", text });
  const tree = made ?? (text.length <= SHORT ? markdownTree(text) : null); // a page may forbid workers
  trees.set(text, tree);
  return tree;
}

export const highlightNow = (text: string, language: string): HighlightedLines | null | undefined =>
  highlights.get(`${language}\n${text}`);

export async function highlightLater(text: string, language: string): Promise<HighlightedLines | null> {
  const lines = await ask<HighlightedLines>({ kind: "highlight", text, language });
  highlights.set(`${language}\n${text}`, lines);
  return lines;
}

/** Parse everything at once while the browser prints, since it does not wait. */
export function setPrinting(now: boolean): void {
  printing = now;
}
