/** The source for an exported page: the data inside it. Nothing is fetched. */

import { Chunks } from "./chunks";
import { closedSource } from "./closedSource";
import type { Embedded, EmbeddedThread, MapChunk, PageChunk, PageEntry } from "./embedded";
import { itemMarkdown } from "../markdown/exportMarkdown";
import { itemHits } from "../search/exportSearch";
import { matchesFilter } from "../search/filter";
import { sessionHref } from "../route";
import { NotFound, type Source, type Target, type ThreadRef } from "./source";
import { TextMatcher } from "../search/textMatcher";
import type { Place, RequestContext, SearchHit, TimelineItem, Waterfall } from "./values";

/** How long one step of a search may block the page, in milliseconds. */
const STEP_MS = 40;

type Visit<T> = (entry: PageEntry, thread: EmbeddedThread) => T[];

export function fileSource(page: Document): Source {
  const index = JSON.parse(page.getElementById("reread-index")?.textContent ?? "null") as Embedded;
  const chunks = new Chunks(page);

  const threadOf = (ref: ThreadRef): EmbeddedThread => {
    const found = index.threads.find(
      ({ agent, branch }) =>
        (agent ?? undefined) === ref.agent &&
        (ref.branch === undefined || ref.agent !== undefined || branch === ref.branch),
    );
    if (!found) throw new NotFound("That is not in this exported page.");
    return found;
  };
  const pageChunk = (thread: EmbeddedThread, page: number): Promise<PageChunk> => {
    const chunk = thread.pages[page];
    return chunk === undefined ? Promise.resolve([]) : chunks.json<PageChunk>(chunk);
  };
  const mapChunk = (thread: EmbeddedThread) => chunks.json<MapChunk>(thread.map);

  async function readItems(thread: EmbeddedThread, start: number, count: number): Promise<TimelineItem[]> {
    const found: TimelineItem[] = [];
    for (let page = Math.floor(start / thread.page); page * thread.page < start + count; page += 1) {
      if (page >= thread.pages.length) break;
      const before = page * thread.page;
      const entries = (await pageChunk(thread, page)).slice(Math.max(0, start - before), start + count - before);
      found.push(...entries.map(({ item }) => item));
    }
    return found;
  }

  async function placeOf(thread: EmbeddedThread, target: Target): Promise<Place | null> {
    const { keys, calls, outline } = await mapChunk(thread);
    const find = (): [item: number, call: number | null] => {
      if (target.call !== undefined) return calls[target.call] ?? [-1, null];
      if (target.turn === undefined) return [keys.indexOf(target.message ?? ""), null];
      return [outline.turns.find(({ index }) => index === target.turn)?.item ?? -1, null];
    };
    const [item, call] = find();
    const key = keys[item];
    return key === undefined ? null : { item, key, branch: thread.branch, agent: thread.agent, call };
  }

  /** Visit the items of one thread after another until the time is up. */
  async function scan<T>(threads: EmbeddedThread[], start: number, visit: Visit<T>) {
    const found: T[] = [];
    const began = performance.now();
    const total = threads.reduce((sum, { overview }) => sum + overview.items, 0);
    let at = start;
    let before = 0;
    for (const thread of threads) {
      for (let page = Math.floor(Math.max(0, at - before) / thread.page); page < thread.pages.length; page += 1) {
        if (at > start && performance.now() - began > STEP_MS) return { found, next: at, searched: at, total };
        for (const entry of await pageChunk(thread, page)) {
          const place = before + entry.item.index;
          if (place < at) continue;
          found.push(...visit(entry, thread));
          at = place + 1;
        }
      }
      before += thread.overview.items;
    }
    return { found, next: null, searched: total, total };
  }

  async function contextAt(ref: ThreadRef, { turn, request }: { turn?: number; request?: number }): Promise<RequestContext> {
    const { contexts } = threadOf(ref);
    const known = contexts === null ? {} : await chunks.json<Record<string, RequestContext>>(contexts);
    const turns = Object.keys(known).map(Number);
    const found =
      request === undefined ? known[turn ?? Math.max(...turns)] : Object.values(known).find(({ context }) => context.request === request);
    if (!found) throw new NotFound(`This exported page has the contexts of turns ${Math.min(...turns)} to ${Math.max(...turns)}.`);
    return found;
  }

  const closed = closedSource("This is not available in an exported page.");
  const onlySession = sessionHref({ session: index.threads[0].overview.key });
  return {
    ...closed,
    can: { ...closed.can, link: true },
    home: index.home ?? onlySession,
    onlySession,
    overview: async (ref) => {
      const { agent, overview } = threadOf(ref);
      return { ...overview, agents: index.agents, branches: agent === null ? index.branches : [] };
    },
    page: async (ref, start, count) => {
      const thread = threadOf(ref);
      return { start, total: thread.overview.items, stamp: 0, items: await readItems(thread, start, count) };
    },
    pageNow: (ref, start, count) => {
      const thread = threadOf(ref);
      const pages = thread.pages.slice(Math.floor(start / thread.page), Math.ceil((start + count) / thread.page));
      const items = pages.flatMap((chunk) => chunks.jsonNow<PageChunk>(chunk).map(({ item }) => item));
      const total = thread.overview.items;
      return { start, total, stamp: 0, items: items.filter(({ index }) => index >= start && index < start + count) };
    },
    context: index.threads[0].contexts === null ? undefined : contextAt,
    waterfall: (ref) => chunks.json<Waterfall>(threadOf(ref).waterfall),
    outline: async (ref, start, count) => {
      const { outline } = await mapChunk(threadOf(ref));
      return { ...outline, start, turns: outline.turns.slice(start, start + count) };
    },
    call: async (ref, call) => {
      const thread = threadOf(ref);
      const { calls } = await mapChunk(thread);
      const [item] = Object.values(calls).find(([, index]) => index === call) ?? [-1];
      const body = (await pageChunk(thread, Math.floor(item / thread.page)))[item % thread.page]?.bodies[call];
      if (!body) throw new NotFound("This call was left out of the exported page.");
      return body;
    },
    place: async (ref, target) => {
      const own = await placeOf(threadOf(ref), target);
      if (own) return own;
      for (const thread of index.threads) {
        const found = await placeOf(thread, target);
        if (found) return found;
      }
      return null;
    },
    search: async (ref, text, start) => {
      const matcher = new TextMatcher(text);
      const agents = ref.agent === undefined ? index.threads.filter(({ agent }) => agent !== null) : [];
      const step = await scan<SearchHit>([threadOf(ref), ...agents], start, ({ item, texts }, { agent }) =>
        itemHits(item, texts, matcher, agent),
      );
      return { hits: step.found, next: step.next, searched: step.searched, total: step.total };
    },
    filter: async (ref, filter, start) => {
      const step = await scan([threadOf(ref)], start, ({ item }) => (matchesFilter(item, filter) ? [item] : []));
      const { found, next, total } = step;
      return { indices: found.map(({ index }) => index), turns: found.map(({ turn }) => turn), next, total };
    },
    markdown: async (ref, target) => {
      const thread = threadOf(ref);
      const place = await placeOf(thread, target);
      const [item] = place ? await readItems(thread, place.item, 1) : [];
      if (!item) throw new NotFound("That is not in this exported page.");
      return itemMarkdown(item);
    },
    usage: async (ref) => (await mapChunk(threadOf(ref))).usage ?? index.usage,
    problems: () => Promise.resolve(index.problems),
    pictureUrl: (url) => chunks.pictureUrl(url),
  };
}
