/** The data inside an exported page: an index that is parsed at once, and chunks that are unpacked on demand.
 *
 * The index is JSON in `<script type="application/json" id="reread-index">`. A chunk is base64 in
 * `<script type="text/plain" data-chunk="N">`: JSON compressed with raw deflate, or the bytes of a picture as they are.
 * The address of a picture is `chunk:N`.
 */

import type { AgentInfo, BranchInfo, CallBody, Outline, Overview, Problems, TimelineItem, UsageSummary } from "./values";

export interface Embedded {
  /** The main thread on each branch, the active branch first, then each agent's thread. */
  threads: [EmbeddedThread, ...EmbeddedThread[]];
  /** The branches of the main thread. */
  branches: BranchInfo[];
  /** All agents in the page. */
  agents: AgentInfo[];
  /** Usage of the whole session. */
  usage: UsageSummary;
  problems: Problems;
  /** The address of the site's index, if the page is part of a site. */
  home: string | null;
}

export interface EmbeddedThread {
  agent: string | null;
  branch: number;
  /** The head of its page, without branches and agents: those are in the index. */
  overview: Overview;
  /** Items per page; the last page may have fewer. */
  page: number;
  /** The chunk of each page, a `PageChunk`; branches may share them. */
  pages: number[];
  /** The chunk with the whole outline, the keys and the usage, a `MapChunk`. */
  map: number;
  /** The chunk with the `Waterfall`. */
  waterfall: number;
  /** The chunk with the `RequestContext` at the end of some turns, by turn; null if there is none. */
  contexts: number | null;
}

export type PageChunk = PageEntry[];

export interface PageEntry {
  item: TimelineItem;
  /** The bodies of its calls, by call index. */
  bodies: Record<string, CallBody>;
  /** What a search reads. */
  texts: SearchText[];
}

/** One text of an item, as the server would search it; what is empty is left out. */
export interface SearchText {
  where: "prompt" | "text" | "thinking" | "call" | "notice";
  text: string;
  /** The index of the call that the text belongs to, its tool, and the files it names. */
  call?: number;
  tool?: string;
  files?: string[];
  error?: boolean;
}

export interface MapChunk {
  outline: Outline;
  /** The key of each item, in order. */
  keys: string[];
  /** The item and the index of each call, by call id. */
  calls: Record<string, [item: number, index: number]>;
  /** Usage of an agent, or of a branch that was left; null if it is that of the whole session. */
  usage: UsageSummary | null;
}
