/** Values that any component can read without props. */

import { createContext, use, type ComponentType } from "react";
import type { Expanded } from "./data/expanded";
import type { LibraryStore } from "./data/libraryStore";
import type { Source } from "./data/source";
import type { ThreadStore } from "./data/threadStore";
import type { TimelineItem } from "./data/values";
import type { Panel } from "./route";

export const SourceContext = createContext<Source | null>(null);
export const LibraryContext = createContext<LibraryStore | null>(null);
export const ThreadStoreContext = createContext<ThreadStore | null>(null);

/** What is expanded in the thread around a component. */
export const ExpandedContext = createContext<Expanded | null>(null);

/** The panel beside the session; null if it is closed. */
export const PanelContext = createContext<Panel | null>(null);

/** Returns an address that an img element can load for the address of a recorded picture. */
export const PictureUrlContext = createContext<(url: string) => Promise<string>>(() =>
  Promise.reject(new Error("This picture is not available.")),
);

/** The component that draws an item. An agent's items are drawn inside a message, which cannot import itself. */
export const MessageContext = createContext<ComponentType<{ item: TimelineItem }> | null>(null);

function required<T>(value: T | null): T {
  if (value === null) throw new Error("rendered outside its context provider");
  return value;
}

export const useSource = (): Source => required(use(SourceContext));
export const useLibraryStore = (): LibraryStore => required(use(LibraryContext));
export const useThreadStore = (): ThreadStore => required(use(ThreadStoreContext));
export const useExpanded = (): Expanded => required(use(ExpandedContext));
export const useMessage = (): ComponentType<{ item: TimelineItem }> => required(use(MessageContext));
