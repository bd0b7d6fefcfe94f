/** Going to turns, calls and errors. */

import { callKey, runKey } from "../parts/keys";
import type { ThreadStore } from "../threadStore";
import type { CallPart, OutlineTurn, Part, TimelineItem } from "../values";

/** How far from the top of the screen the current call is looked for, in items. */
const NEAR = 50;

const isCall = (part: Part): part is CallPart => part.part === "call";

const callsOf = (item: TimelineItem | undefined): CallPart[] => item?.parts.filter(isCall) ?? [];

export async function goToTurn(store: ThreadStore, turn: number): Promise<void> {
  const mark = await loadOutlineTurn(store, turn);
  if (mark) await goToItem(store, mark.item, null);
}

/** The turn with this number, or the nearest one. The first turn of an exported page may have any number. */
async function loadOutlineTurn(store: ThreadStore, turn: number): Promise<OutlineTurn | undefined> {
  const first = (await store.loadTurn(0))?.index ?? 1;
  return store.loadTurn(Math.max(0, Math.min(turn - first, store.turns - 1)));
}

/** Go to the next or the previous turn; from the middle of a turn, back means to its start. */
export async function stepTurn(store: ThreadStore, step: 1 | -1): Promise<void> {
  const { turn, top } = store.position;
  if (step === 1) return goToTurn(store, turn + 1);
  const mark = await loadOutlineTurn(store, turn);
  return goToTurn(store, mark && top > mark.item ? turn : turn - 1);
}

export async function stepCall(store: ThreadStore, step: 1 | -1): Promise<void> {
  const { call, top } = store.position;
  for (let index = call === null ? top : itemOfCall(store, call); index >= 0 && index < store.total; index += step) {
    const item = await store.load(index);
    const beyond = callsOf(item).filter((other) => call === null || (other.index - call) * step > 0);
    const next = step === 1 ? beyond[0] : beyond.at(-1);
    if (next) return goToItem(store, index, next.index);
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

export async function goToNextError(store: ThreadStore): Promise<void> {
  const { position, source, thread } = store;
  let start: number | null = (store.errorAt ?? position.top - 1) + 1;
  while (start !== null) {
    const found = await source.filter(thread, { kinds: [], tools: [], errors: true }, start);
    const [index] = found.indices;
    if (index !== undefined) {
      store.errorAt = index;
      const error = callsOf(await store.load(index)).find((call) => call.state === "failed");
      return goToItem(store, index, error?.index ?? null);
    }
    start = found.next;
  }
  store.errorAt = null;
}

export function toggleCall(store: ThreadStore): void {
  const { call } = store.position;
  if (call !== null) store.expanded.toggle(callKey({ index: call }));
}

/** Go to an item, and to a call in it, which can be expanded. */
export async function goToItem(store: ThreadStore, index: number, call: number | null, expand = false): Promise<void> {
  const item = await store.load(index);
  const part = callsOf(item).find((part) => part.index === call);
  if (part && expand) store.expanded.expand(callKey(part));
  if (item?.kind === "run" && part) store.expanded.expand(runKey(item));
  store.position.move(index, item?.turn ?? null);
  store.position.select(item?.key ?? null, call);
  store.jumps.to({ index, call });
}
