import { expect, test, vi } from "vitest";
import { PAGE, Reading } from "../src/reading";
import { EVERYTHING, keptParts } from "../src/filter";
import type { Source } from "../src/source";
import type { Grown, Overview, Page, Part, Passage } from "../src/values";

const passage = (index: number, text = `text ${index}`): Passage => ({
  index,
  key: `m${index}`,
  kind: "response",
  turn: 1,
  line: index,
  time: null,
  parts: [{ part: "text", text, chars: null }],
  title: "",
  model: null,
  flags: [],
  figures: null,
  seconds: null,
});

const grown = (passages: number, first: number): Grown => ({
  stamp: passages,
  branch: 0,
  passages,
  turns: 1,
  first,
  live: true,
  agents: [],
  rewritten: false,
  gone: false,
});

function reading(total: number, text?: (index: number) => string) {
  const state = { total };
  const page = vi.fn((_: unknown, start: number, count: number): Promise<Page> => {
    const shown = Math.max(0, Math.min(count, state.total - start));
    const passages = Array.from({ length: shown }, (_, at) => passage(start + at, text?.(start + at)));
    return Promise.resolve({ start, total: state.total, stamp: state.total, passages });
  });
  const overview = { passages: total, turns: 1, replaced: false } as Overview;
  return { state, page, open: new Reading({ page } as unknown as Source, { session: "s" }, overview) };
}

test("pages are asked for once, and only those near", async () => {
  const { page, open } = reading(1000);
  open.want(PAGE - 5, PAGE + 5);
  await Promise.all([open.load(0), open.load(PAGE)]);
  expect(page).toHaveBeenCalledTimes(2);
  expect(open.passage(PAGE + 1)?.key).toBe(`m${PAGE + 1}`);
  expect(open.passage(3 * PAGE)).toBeUndefined();
});

test("what was read long ago is forgotten", async () => {
  const { open } = reading(100 * PAGE);
  for (let at = 0; at < 100; at += 1) await open.load(at * PAGE);
  const kept = Array.from({ length: 100 }, (_, at) => open.passage(at * PAGE)).filter(Boolean);
  expect(kept.length).toBeLessThanOrEqual(40);
  expect(open.passage(99 * PAGE)).toBeDefined();
});

test("growth asks again for what changed, and keeps the passages that did not", async () => {
  const { state, page, open } = reading(60);
  await open.load(0);
  await open.load(PAGE);
  const before = open.passage(PAGE);
  state.total = 65;
  open.grow(grown(65, 58));
  expect([open.total, open.fresh]).toEqual([65, 5]);
  await open.load(0);
  expect(page).toHaveBeenCalledTimes(2);
  await open.load(PAGE);
  expect(page).toHaveBeenCalledTimes(3);
  expect(open.passage(PAGE)).toBe(before);
  expect(open.passage(64)?.key).toBe("m64");
  open.seen();
  expect(open.fresh).toBe(0);
});

test("a failed page is told, and asked for again", async () => {
  const { page, open } = reading(10);
  page.mockRejectedValueOnce(new Error("gone"));
  await open.load(0);
  expect(open.failed?.message).toBe("gone");
  await open.load(0);
  expect(open.passage(0)?.key).toBe("m0");
});

test("what is open stays open, and thinking opens everywhere", () => {
  const { opened } = reading(1).open;
  opened.toggle("call:1");
  expect(opened.isOpen("call:1")).toBe(true);
  opened.toggle("thinking:a:0");
  opened.toggleThinking();
  expect(opened.isOpen("thinking:a:0", opened.thinking)).toBe(true);
  expect(opened.isOpen("call:1")).toBe(true);
});

test("a filter keeps the parts that fit", () => {
  const call = { part: "call", name: "Bash", is_error: true } as Part;
  const thought = { part: "thinking", text: "hm", chars: null, seconds: null } as Part;
  const mixed = { ...passage(0), parts: [...passage(0).parts, thought, call] };
  const kept = (filter: object) => keptParts(mixed, { ...EVERYTHING, ...filter }).map((part) => part.part);
  expect(kept({})).toEqual(["text", "thinking", "call"]);
  expect(kept({ kinds: ["text"] })).toEqual(["text"]);
  expect(kept({ tools: ["Bash"] })).toEqual(["call"]);
  expect(kept({ kinds: ["text"], tools: ["Bash"] })).toEqual(["text", "call"]);
  expect(kept({ errors: true })).toEqual(["call"]);
  expect(kept({ kinds: ["thinking", "tools"] })).toEqual(["thinking", "call"]);
});

test("the head and the first passages are asked for together", async () => {
  const { page } = reading(200);
  let answer: (overview: Overview) => void = () => undefined;
  const overview = () => new Promise<Overview>((resolve) => (answer = resolve));
  const opening = Reading.open({ page, overview } as unknown as Source, { session: "s" }, PAGE + 3);
  expect(page).toHaveBeenCalledWith({ session: "s" }, PAGE, PAGE);
  answer({ passages: 200, turns: 1, replaced: false } as Overview);
  const open = await opening;
  expect(open.passage(PAGE + 3)?.key).toBe(`m${PAGE + 3}`);
  await open.load(PAGE);
  expect(page).toHaveBeenCalledTimes(1);
});

test("a first page from before the session grew is asked for again", async () => {
  const { page } = reading(60);
  const overview = () => Promise.resolve({ passages: 61, turns: 1, replaced: false } as Overview);
  const open = await Reading.open({ page, overview } as unknown as Source, { session: "s" }, PAGE);
  await open.load(PAGE);
  expect(page).toHaveBeenCalledTimes(2);
});
