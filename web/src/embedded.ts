/** What an exported page holds: an index to read at once, and chunks to unpack as they are needed.
 *
 * The index is JSON in `<script type="application/json" id="reread-index">`. A chunk is base64 in
 * `<script type="text/plain" data-chunk="N">`: JSON packed with raw deflate, or the bytes of a picture as they are. A
 * picture's address is `chunk:N`.
 */

import type { AgentMark, BranchMark, CallBody, Outline, Overview, Passage, Problems, Spent } from "./values";

export interface Embedded {
  /** The session's main thread on each branch, the active one first, and each agent's. */
  threads: [EmbeddedThread, ...EmbeddedThread[]];
  /** Those of the main thread. */
  branches: BranchMark[];
  /** All that the page holds. */
  agents: AgentMark[];
  /** What the session spent. */
  spent: Spent;
  problems: Problems;
  /** Where the site's index is, for a page that is part of one. */
  home: string | null;
}

export interface EmbeddedThread {
  agent: string | null;
  branch: number;
  /** The head of its page; its lists are empty, for those of the page are for all. */
  overview: Overview;
  /** What an agent spent. */
  spent: Spent | null;
  /** How many passages a page has; the last may have fewer. */
  page: number;
  /** The chunk of each page, a `PageChunk`; branches may share them. */
  pages: number[];
  /** The chunk with the thread's outline, whole, and with its names. */
  map: number;
}

export interface PageChunk {
  passages: Passage[];
  /** The bodies of their calls, by the call's index. */
  bodies: Record<string, CallBody>;
}

export interface MapChunk {
  outline: Outline;
  /** The key of each passage, in order. */
  keys: string[];
  /** The passage and the index of each call, by its id. */
  calls: Record<string, [passage: number, index: number]>;
}
