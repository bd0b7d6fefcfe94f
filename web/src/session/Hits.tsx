/** The results of a search, in order. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import { VirtualRows } from "../kit/VirtualRows";
import { PlainText } from "../kit/PlainText";
import { textAfter, textBefore } from "../kit/excerpt";
import { exact, plural } from "../kit/format";
import type { SearchHit } from "../data/values";
import { useCurrentHit, type Search } from "./useSearch";

/** Characters shown before a match: more would push it out of the two lines of a row. */
const BEFORE = 30;
/** Characters of the text after a match that are sent. */
const AFTER = 60;

interface Props {
  search: Search;
  /** The hit that was gone to last, if any. */
  current: SearchHit | null;
  onHit(hit: SearchHit): void;
}

export function Hits({ search, current, onHit }: Props) {
  const at = useCurrentHit(search.hits, current);
  const container = useRef<HTMLDivElement>(null);
  const list = useVirtualizer({
    count: search.hits.length,
    getScrollElement: () => container.current,
    estimateSize: () => 64,
    overscan: 8,
  });
  useEffect(() => {
    if (at >= 0) list.scrollToIndex(at, { align: "auto" });
  }, [at]);
  return (
    <section className="outline hits" aria-label="Search results">
      <p className="hits-summary" role="status">
        {summary(search)}
      </p>
      <div className="outline-scroll" ref={container} tabIndex={-1}>
        <VirtualRows list={list}>{(index) => <HitRow hit={search.hits[index] as SearchHit} isCurrent={index === at} onHit={onHit} />}</VirtualRows>
      </div>
    </section>
  );
}

function HitRow({ hit, isCurrent, onHit }: { hit: SearchHit; isCurrent: boolean; onHit(hit: SearchHit): void }) {
  return (
    <button type="button" className="hit" aria-current={isCurrent ? "true" : undefined} onClick={() => onHit(hit)}>
      <span className="hit-place">
        {hit.agent && "◇ "}Turn {exact(hit.turn)} · {hit.tool && <PlainText text={`${hit.tool} `} />}
        {hit.where}
      </span>
      <span className="hit-text">
        <PlainText text={textBefore(hit.before, BEFORE)} />
        <mark>
          <PlainText text={hit.match} />
        </mark>
        <PlainText text={textAfter(hit.after, AFTER)} />
      </span>
    </button>
  );
}

function summary({ hits, done, searched, total, error }: Search): string {
  if (error) return error.message;
  if (!done) return `${plural(hits.length, "match", "matches")} so far, ${exact(searched)} of ${exact(total)} messages searched`;
  return hits.length ? plural(hits.length, "match", "matches") : "No matches";
}
