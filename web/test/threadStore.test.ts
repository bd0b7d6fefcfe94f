import { expect, test, vi } from "vitest";
import { matchingParts, NO_FILTER } from "../src/search/filter";
import type { Source } from "../src/data/source";
import { PAGE, ThreadStore } from "../src/data/threadStore";
import type { ItemPage, Overview, Part, TimelineItem, TimelineUpdate } from "../src/data/values";

const makeItem = (index: number): TimelineItem => ({
  index,
  key: `m${index}`,
  kind: "response",
  turn: 1,
  line: index,
  time: null,
  after: null,
  parts: [{ part: "text", text: `text ${index}`, chars: null }],
  title: "", author: "", label: "",
  model: null,
  flags: [],
  responses: [],
  fields: null,
  figures: null,
  seconds: null,
  commits: [],
  pull_requests: [], cache_breaks: [], context: null, grew: null, new_model: null,
});

const makeUpdate = (items: number, first: number): TimelineUpdate => ({
  stamp: items,
  branch: 0,
  items,
  turns: 1,
  first,
  live: true,
  agents: [],
  rewritten: false,
  gone: false,
});

/** A store whose source has this many items. */
function openStore(total: number) {
  const state = { total };
  const page = vi.fn((_: unknown, start: number, count: number): Promise<ItemPage> => {
    const length = Math.max(0, Math.min(count, state.total - start));
    const items = Array.from({ length }, (_, at) => makeItem(start + at));
    return Promise.resolve({ start, total: state.total, stamp: state.total, items });
  });
  const overview = { items: total, turns: 1, replaced: false } as Overview;
  return { state, page, store: new ThreadStore({ page } as unknown as Source, { session: "s" }, overview) };
}

test("each page is loaded once, and only if it is near", async () => {
  const { page, store } = openStore(1000);
  store.request(PAGE - 5, PAGE + 5);
  await Promise.all([store.load(0), store.load(PAGE)]);
  expect(page).toHaveBeenCalledTimes(2);
  expect(store.item(PAGE + 1)?.key).toBe(`m${PAGE + 1}`);
  expect(store.item(3 * PAGE)).toBeUndefined();
});

test("pages that were not used for long are dropped", async () => {
  const { store } = openStore(100 * PAGE);
  for (let at = 0; at < 100; at += 1) await store.load(at * PAGE);
  const cached = Array.from({ length: 100 }, (_, at) => store.item(at * PAGE)).filter(Boolean);
  expect(cached.length).toBeLessThanOrEqual(40);
  expect(store.item(99 * PAGE)).toBeDefined();
});

test("an update reloads the pages that changed, and keeps the items that did not", async () => {
  const { state, page, store } = openStore(60);
  await store.load(0);
  await store.load(PAGE);
  const before = store.item(PAGE);
  state.total = 65;
  store.update(makeUpdate(65, 58));
  expect([store.total, store.newItems]).toEqual([65, 5]);
  await store.load(0);
  expect(page).toHaveBeenCalledTimes(2);
  await store.load(PAGE);
  expect(page).toHaveBeenCalledTimes(3);
  expect(store.item(PAGE)).toBe(before);
  expect(store.item(64)?.key).toBe("m64");
  store.markSeen();
  expect(store.newItems).toBe(0);
});

test("a rewritten file reloads every page", async () => {
  const { page, store } = openStore(60);
  await store.load(0);
  store.update({ ...makeUpdate(60, 60), rewritten: true });
  await store.load(0);
  expect(page).toHaveBeenCalledTimes(2);
});

test("a page that failed is reported, and can be loaded again", async () => {
  const { page, store } = openStore(10);
  page.mockRejectedValueOnce(new Error("gone"));
  await store.load(0);
  expect(store.error?.message).toBe("gone");
  await store.load(0);
  expect(store.item(0)?.key).toBe("m0");
});

test("what is expanded stays so when all thinking is expanded", () => {
  const { expanded } = openStore(1).store;
  expanded.toggle("call:1");
  expect(expanded.has("call:1")).toBe(true);
  expanded.toggle("thinking:a:0");
  expanded.toggleThinking();
  expect(expanded.has("thinking:a:0", expanded.thinking)).toBe(true);
  expect(expanded.has("call:1")).toBe(true);
});

test("a filter selects the matching parts", () => {
  const call = { part: "call", name: "Bash", state: "failed" } as Part;
  const thinking = { part: "thinking", text: "hm", chars: null, seconds: null } as Part;
  const mixed = { ...makeItem(0), parts: [...makeItem(0).parts, thinking, call] };
  const matching = (filter: object) => matchingParts(mixed, { ...NO_FILTER, ...filter }).map((part) => part.part);
  expect(matching({})).toEqual(["text", "thinking", "call"]);
  expect(matching({ kinds: ["text"] })).toEqual(["text"]);
  expect(matching({ tools: ["Bash"] })).toEqual(["call"]);
  expect(matching({ kinds: ["text"], tools: ["Bash"] })).toEqual(["text", "call"]);
  expect(matching({ errors: true })).toEqual(["call"]);
  expect(matching({ kinds: ["thinking", "tools"] })).toEqual(["thinking", "call"]);
});

test("the overview and the first items are requested together", async () => {
  const { page } = openStore(200);
  let answer: (overview: Overview) => void = () => undefined;
  const overview = () => new Promise<Overview>((resolve) => (answer = resolve));
  const opening = ThreadStore.open({ page, overview } as unknown as Source, { session: "s" }, PAGE + 3);
  expect(page).toHaveBeenCalledWith({ session: "s" }, PAGE, PAGE);
  answer({ items: 200, turns: 1, replaced: false } as Overview);
  const store = await opening;
  expect(store.item(PAGE + 3)?.key).toBe(`m${PAGE + 3}`);
  await store.load(PAGE);
  expect(page).toHaveBeenCalledTimes(1);
});

test("a first page that is older than the overview is loaded again", async () => {
  const { page } = openStore(60);
  const overview = () => Promise.resolve({ items: 61, turns: 1, replaced: false } as Overview);
  const store = await ThreadStore.open({ page, overview } as unknown as Source, { session: "s" }, PAGE);
  await store.load(PAGE);
  expect(page).toHaveBeenCalledTimes(2);
});
