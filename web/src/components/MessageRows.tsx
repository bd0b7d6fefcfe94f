/** Messages in order, of which those near the screen are rendered. */

import { memo, useRef } from "react";
import type { TimelineItem } from "../data/values";
import { CacheBreaks } from "../parts/CacheBreaks";
import { Message } from "../parts/Message";
import { HeaderLine } from "./MessageHeader";
import { useNearRows } from "./useNearRows";

export function MessageRows({ items }: { items: readonly TimelineItem[] }) {
  const container = useRef<HTMLDivElement>(null);
  const { first, last, before, after, rowRef } = useNearRows(container, items.length);
  return (
    <div className="embedded-list" ref={container}>
      {/* Not a padding: the browser keeps what is on the screen in its place only if other elements change their height. */}
      <div style={{ height: before }} />
      {items.slice(first, last + 1).map((item) => (
        <div key={item.index} className="row" data-index={item.index} ref={rowRef}>
          <HeadedMessage item={item} />
        </div>
      ))}
      <div style={{ height: after }} />
    </div>
  );
}

/** A message with a line above it: the reader has the same figures beside and below it. */
export const HeadedMessage = memo(function HeadedMessage({ item }: { item: TimelineItem }) {
  const { kind, model, time, figures, cache_breaks: breaks } = item;
  const header = <HeaderLine kind={kind} model={model} timestamp={time} figures={figures} />;
  return <Message item={item} header={header} below={<CacheBreaks breaks={breaks} />} />;
});
