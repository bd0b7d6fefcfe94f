/** Values that any component can read without props. */

import { createContext, use, type ComponentType } from "react";
import type { Source } from "./source";
import type { ThreadStore } from "./threadStore";
import type { TimelineItem } from "./values";

export const SourceContext = createContext<Source | null>(null);
export const ThreadStoreContext = createContext<ThreadStore | null>(null);

/** The component that draws an item. An agent's items are drawn inside a message, which cannot import itself. */
export const MessageContext = createContext<ComponentType<{ item: TimelineItem }> | null>(null);

function required<T>(value: T | null): T {
  if (value === null) throw new Error("rendered outside its context provider");
  return value;
}

export const useSource = (): Source => required(use(SourceContext));
export const useThreadStore = (): ThreadStore => required(use(ThreadStoreContext));
export const useMessage = (): ComponentType<{ item: TimelineItem }> => required(use(MessageContext));
