/** What the components of the package are drawn in: an island, with the items of a conversation and a store of its own. */

import { useMemo, useState, type ReactNode } from "react";
import { MessageContext } from "../contexts";
import { Expanded } from "../data/expanded";
import { ThreadStore } from "../data/threadStore";
import type { TimelineItem } from "../data/values";
import { ThreadProvider } from "../session/ThreadProvider";
import { Island, type IslandProps } from "./Island";
import { jsonSource } from "./jsonSource";
import { JsonThread, type Conversation as Conversed } from "./jsonThread";
import { HeadedMessage } from "./MessageRows";

interface Props extends IslandProps {
  of: Conversed;
  /** Whether thinking is open at first. */
  openThinking?: boolean;
  children(items: TimelineItem[]): ReactNode;
}

export function Conversation({ of, openThinking = false, children, ...island }: Props) {
  // What is open stays open while a conversation grows.
  const [expanded] = useState(() => new Expanded());
  expanded.thinking = openThinking;
  const { items, store } = useMemo(() => {
    const thread = new JsonThread(of);
    return { items: thread.items, store: new ThreadStore(jsonSource(thread, of), { session: "" }, thread.overview, expanded) };
  }, [of, expanded]);
  return (
    <Island {...island}>
      <ThreadProvider store={store}>
        <MessageContext value={HeadedMessage}>{children(items)}</MessageContext>
      </ThreadProvider>
    </Island>
  );
}
