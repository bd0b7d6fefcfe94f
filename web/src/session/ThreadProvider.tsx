import type { ReactNode } from "react";
import { ExpandedContext, ThreadStoreContext } from "../contexts";
import type { ThreadStore } from "../data/threadStore";

/** Makes a thread available to the components in it. */
export function ThreadProvider({ store, children }: { store: ThreadStore; children: ReactNode }) {
  return (
    <ThreadStoreContext value={store}>
      <ExpandedContext value={store.expanded}>{children}</ExpandedContext>
    </ThreadStoreContext>
  );
}
