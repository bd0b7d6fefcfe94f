/** What the page on the screen can do; the palette lists it. */

import { useEffect, useRef } from "react";

export interface Action {
  name: string;
  /** The keys that do the same. */
  keys?: string;
  /** Other words that people look for it by. */
  also?: string;
  run(): void;
}

const lists = new Set<{ current: Action[] }>();

/** Offer these actions while the component is on the page. */
export function useActions(actions: Action[]): void {
  const list = useRef(actions);
  list.current = actions;
  useEffect(() => {
    lists.add(list);
    return () => void lists.delete(list);
  }, []);
}

/** The actions of the page, then those of every page, which were there before. */
export const availableActions = (): Action[] => [...lists].reverse().flatMap(({ current }) => current);
