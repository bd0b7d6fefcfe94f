/** Reading from the data inside an exported page; nothing is ever fetched. */

import { Chunks } from "./chunks";
import type { Embedded, EmbeddedThread, MapChunk, PageChunk } from "./embedded";
import { fitsFilter } from "./filter";
import { hitsIn, needle } from "./looking";
import { passageMarkdown } from "./markdownOf";
import { sessionHref } from "./route";
import { Missing, type Source, type Target, type Thread } from "./source";
import type { Hit, Passage, Place } from "./values";

/** How long one step of a search may hold up the page. */
const STEP_MS = 40;

type Each<T> = (passage: Passage, chunk: PageChunk, thread: EmbeddedThread) => T[];

const none = (): Promise<never> => Promise.reject(new Missing("This page holds one session, and only what is drawn of it."));

/** The data of an exported page. */
export function fileSource(page: Document): Source {
  const index = JSON.parse(page.getElementById("reread-index")?.textContent ?? "null") as Embedded;
  const chunks = new Chunks(page);

  const threadAt = (at: Thread): EmbeddedThread => {
    const found = index.threads.find(
      ({ agent, branch }) =>
        (agent ?? undefined) === at.agent && (at.branch === undefined || at.agent !== undefined || branch === at.branch),
    );
    if (!found) throw new Missing("This is not in the exported page.");
    return found;
  };
  const pageAt = (thread: EmbeddedThread, page: number): Promise<PageChunk> => {
    const chunk = thread.pages[page];
    return chunk === undefined ? Promise.resolve({ passages: [], bodies: {} }) : chunks.json<PageChunk>(chunk);
  };
  const mapOf = (thread: EmbeddedThread) => chunks.json<MapChunk>(thread.map);

  async function passages(thread: EmbeddedThread, start: number, count: number): Promise<Passage[]> {
    const found: Passage[] = [];
    for (let page = Math.floor(start / thread.page); page * thread.page < start + count; page += 1) {
      if (page >= thread.pages.length) break;
      const before = page * thread.page;
      found.push(...(await pageAt(thread, page)).passages.slice(Math.max(0, start - before), start + count - before));
    }
    return found;
  }

  async function place(thread: EmbeddedThread, target: Target): Promise<Place | null> {
    const { keys, calls, outline } = await mapOf(thread);
    const [passage, call] =
      target.call !== undefined
        ? (calls[target.call] ?? [-1, null])
        : [target.turn !== undefined ? (outline.turns.find(({ index }) => index === target.turn)?.passage ?? -1) : keys.indexOf(target.message ?? ""), null];
    const key = keys[passage];
    return key === undefined ? null : { passage, key, branch: thread.branch, agent: thread.agent, call };
  }

  /** Look through pages, those of one thread after another, until time is up. */
  async function look<T>(threads: EmbeddedThread[], start: number, each: Each<T>) {
    const found: T[] = [];
    const began = performance.now();
    const total = threads.reduce((sum, { overview }) => sum + overview.passages, 0);
    let at = start;
    let before = 0;
    for (const thread of threads) {
      for (let page = Math.floor(Math.max(0, at - before) / thread.page); page < thread.pages.length; page += 1) {
        if (at > start && performance.now() - began > STEP_MS) return { found, next: at, searched: at, total };
        const chunk = await pageAt(thread, page);
        for (const passage of chunk.passages) {
          if (before + passage.index < at) continue;
          found.push(...each(passage, chunk, thread));
          at = before + passage.index + 1;
        }
      }
      before += thread.overview.passages;
    }
    return { found, next: null, searched: total, total };
  }

  const only = sessionHref({ session: index.threads[0].overview.key });
  return {
    can: { library: false, usage: false, raw: false, live: false },
    home: index.home ?? only,
    only,
    library: none,
    usage: none,
    lines: none,
    overview: async (at) => {
      const { agent, overview } = threadAt(at);
      return { ...overview, agents: index.agents, branches: agent === null ? index.branches : [] };
    },
    page: async (at, start, count) => {
      const thread = threadAt(at);
      return { start, total: thread.overview.passages, stamp: 0, passages: await passages(thread, start, count) };
    },
    outline: async (at, start, count) => {
      const { outline } = await mapOf(threadAt(at));
      return { ...outline, start, turns: outline.turns.slice(start, start + count) };
    },
    call: async (at, call) => {
      const thread = threadAt(at);
      const { calls } = await mapOf(thread);
      const [passage] = Object.values(calls).find(([, number]) => number === call) ?? [-1];
      const body = (await pageAt(thread, Math.floor(passage / thread.page))).bodies[call];
      if (!body) throw new Missing("This call was left out of the exported page.");
      return body;
    },
    place: async (at, target) => {
      const own = await place(threadAt(at), target);
      if (own) return own;
      for (const thread of index.threads) {
        const found = await place(thread, target);
        if (found) return found;
      }
      return null;
    },
    find: async (at, text, start) => {
      const wanted = needle(text);
      const agents = at.agent === undefined ? index.threads.filter(({ agent }) => agent !== null) : [];
      const step = await look<Hit>([threadAt(at), ...agents], start, (passage, { bodies }, { agent }) =>
        hitsIn(passage, bodies, wanted, agent),
      );
      return { hits: step.found, next: step.next, searched: step.searched, total: step.total };
    },
    filter: async (at, filter, start) => {
      const step = await look([threadAt(at)], start, (passage) => (fitsFilter(passage, filter) ? [passage.index] : []));
      return { indices: step.found, next: step.next, total: step.total };
    },
    markdown: async (at, target) => {
      const thread = threadAt(at);
      const found = await place(thread, target);
      const [passage] = found ? await passages(thread, found.passage, 1) : [];
      if (!passage) throw new Missing("This is not in the exported page.");
      return passageMarkdown(passage);
    },
    spent: async (at) => threadAt(at).spent ?? index.spent,
    problems: () => Promise.resolve(index.problems),
    picture: (url) => chunks.picture(url),
    exported: () => null,
    watch: () => () => undefined,
    watchLibrary: () => () => undefined,
  };
}
