/** Going to turns, calls and errors. */

import { TROUBLE, troubles } from "../search/filter";
import { bodyKey, callKey, runKey } from "../parts/keys";
import type { Jump, ThreadStore } from "../data/threadStore";
import type { CallPart, OutlineTurn, Part, TimelineItem } from "../data/values";

/** How far from the top of the screen the current call is looked for, in items. */
const NEAR = 50;
/** Items before and after the target of a jump that are loaded first, so that they can be measured. */
const AROUND = 20;

const isCall = (part: Part): part is CallPart => part.part === "call";

const callsOf = (item: TimelineItem | undefined): CallPart[] => item?.parts.filter(isCall) ?? [];

export async function goToTurn(store: ThreadStore, turn: number, ticket = store.jumps.ask()): Promise<void> {
  const mark = await loadOutlineTurn(store, turn);
  if (mark) await goToItem(store, { index: mark.item, call: null }, ticket);
}

/** The turn with this number, or the nearest one. The first turn of an exported page may have any number. */
async function loadOutlineTurn(store: ThreadStore, turn: number): Promise<OutlineTurn | undefined> {
  const first = (await store.loadTurn(0))?.index ?? 1;
  return store.loadTurn(Math.max(0, Math.min(turn - first, store.turns - 1)));
}

/** Go to the next or the previous turn; from the middle of a turn, back means to its start. */
export async function stepTurn(store: ThreadStore, step: 1 | -1): Promise<void> {
  const ticket = store.jumps.ask();
  const { turn, top } = store.position;
  if (step === 1) return goToTurn(store, turn + 1, ticket);
  const mark = await loadOutlineTurn(store, turn);
  return goToTurn(store, mark && top > mark.item ? turn : turn - 1, ticket);
}

export async function stepCall(store: ThreadStore, step: 1 | -1): Promise<void> {
  const ticket = store.jumps.ask();
  const { call, top } = store.position;
  for (let index = call === null ? top : itemOfCall(store, call); index >= 0 && index < store.total; index += step) {
    const item = await store.load(index);
    const beyond = callsOf(item).filter((other) => call === null || (other.index - call) * step > 0);
    const next = step === 1 ? beyond[0] : beyond.at(-1);
    if (next) return goToItem(store, { index, call: next.index }, ticket);
  }
}

/** The index of the item with a call, looked for near the top of the screen. */
function itemOfCall(store: ThreadStore, call: number): number {
  const { top } = store.position;
  for (let away = 0; away < NEAR; away += 1) {
    for (const index of [top + away, top - away]) {
      if (callsOf(store.item(index)).some((other) => other.index === call)) return index;
    }
  }
  return top;
}

/** Go to the next call that failed, was denied or interrupted, or the next error message; after the last, to the first. */
export async function goToNextError(store: ThreadStore): Promise<void> {
  const ticket = store.jumps.ask();
  const { top, call } = store.position;
  const at = store.errorAt ?? top;
  const next = troubles(await store.load(at)).find(({ index }) => store.errorAt === null || (call !== null && index > call));
  if (next) return visitError(store, at, next.index, ticket);
  const found = (await nextTrouble(store, store.errorAt === null ? at : at + 1)) ?? (await nextTrouble(store, 0));
  if (found === null) return store.showNotice("Nothing failed, was denied or interrupted here.");
  const [first] = troubles(await store.load(found));
  return visitError(store, found, first?.index ?? null, ticket);
}

function visitError(store: ThreadStore, index: number, call: number | null, ticket: number): Promise<void> {
  store.errorAt = index;
  return goToItem(store, { index, call }, ticket);
}

/** The first item from `start` on in which something did not end well. */
async function nextTrouble({ source, thread }: ThreadStore, start: number): Promise<number | null> {
  for (let from: number | null = start; from !== null; ) {
    const found = await source.filter(thread, TROUBLE, from);
    const [index] = found.indices;
    if (index !== undefined) return index;
    from = found.next;
  }
  return null;
}

export function toggleCall(store: ThreadStore): void {
  const { call } = store.position;
  if (call !== null) store.expanded.toggle(callKey({ index: call }));
}

/** Go to an item, and to a call in it, which can be expanded; unless the person goes elsewhere while they are loaded. */
export async function goToItem(store: ThreadStore, jump: Jump, ticket = store.jumps.ask(), expand = false): Promise<void> {
  const { index, call } = jump;
  const item = await loadAround(store, index);
  if (!store.jumps.isWanted(ticket)) return;
  const part = callsOf(item).find((part) => part.index === call);
  if (part && expand) store.expanded.expand(callKey(part));
  if (part?.agents.length && jump.match !== undefined) store.expanded.expand(bodyKey(part));
  if (item?.kind === "run" && part) store.expanded.expand(runKey(item));
  store.position.move(index, item?.turn ?? null);
  store.position.select(item?.key ?? null, call);
  store.jumps.to(jump, ticket);
}

/** Go back to a place without selecting it. */
export async function returnTo(store: ThreadStore, { index, offset }: { index: number; offset: number }): Promise<void> {
  const ticket = store.jumps.ask();
  const last = Math.min(index, store.total - 1);
  await loadAround(store, last);
  store.jumps.to({ index: last, call: null, offset }, ticket);
}

async function loadAround(store: ThreadStore, index: number): Promise<TimelineItem | undefined> {
  const first = Math.max(0, index - AROUND);
  const last = Math.min(store.total - 1, index + AROUND);
  const [item] = await Promise.all([store.load(index), store.load(first), store.load(last)]);
  return item;
}
