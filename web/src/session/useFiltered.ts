/** The items that match a filter, or make up the conversation, as they are found. */

import { useEffect, useMemo, useState } from "react";
import { isEmpty, NO_FILTER } from "../search/filter";
import { toError } from "../kit/toError";
import type { Filter } from "../data/source";
import type { ThreadStore } from "../data/threadStore";
import type { FilterResult } from "../data/values";

export interface FilteredItems {
  indices: number[];
  /** The turn of each item. */
  turns: number[];
  done: boolean;
}

const PROMPTS: Filter = { ...NO_FILTER, kinds: ["prompts"] };
const TEXTS: Filter = { ...NO_FILTER, kinds: ["text"] };
/** The parts of the conversation that are shown. */
export const CONVERSATION: Filter = { ...NO_FILTER, kinds: ["prompts", "text"] };

export function useFiltered(store: ThreadStore, filter: Filter): FilteredItems {
  const [items, setItems] = useState<FilteredItems>({ indices: [], turns: [], done: true });
  useEffect(() => {
    if (isEmpty(filter)) return;
    let current = true;
    const run = async () => {
      let indices: number[] = [];
      let turns: number[] = [];
      let start: number | null = 0;
      while (current && start !== null) {
        const found: FilterResult = await store.source.filter(store.thread, filter, start);
        indices = indices.concat(found.indices);
        turns = turns.concat(found.turns);
        start = found.next;
        if (current) setItems({ indices, turns, done: start === null });
      }
    };
    setItems((before) => ({ ...before, done: false }));
    run().catch((error: unknown) => current && store.showNotice(toError(error).message));
    return () => {
      current = false;
    };
  }, [store, filter, store.total]);
  return items;
}

/** The prompts, and the last text of each turn. */
export function useConversation(store: ThreadStore, active: boolean): FilteredItems {
  const prompts = useFiltered(store, active ? PROMPTS : NO_FILTER);
  const texts = useFiltered(store, active ? TEXTS : NO_FILTER);
  return useMemo(() => conversationOf(prompts, texts), [prompts, texts]);
}

export function conversationOf(prompts: FilteredItems, texts: FilteredItems): FilteredItems {
  const turnOf = new Map(prompts.indices.map((index, at) => [index, prompts.turns[at] ?? 0]));
  const answers = new Map(texts.indices.map((index, at) => [texts.turns[at] ?? 0, index]));
  for (const [turn, index] of answers) turnOf.set(index, turn);
  const indices = [...turnOf.keys()].sort((a, b) => a - b);
  return { indices, turns: indices.map((index) => turnOf.get(index) ?? 0), done: prompts.done && texts.done };
}
