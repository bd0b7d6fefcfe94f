/** What a search found, in order. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";
import { VirtualRows } from "../kit/VirtualRows";
import { Plain } from "../kit/visible";
import { exact, plural } from "../kit/words";
import type { Hit } from "../values";
import type { Search } from "./useSearch";

interface Props {
  search: Search;
  query: string;
  onHit(hit: Hit): void;
}

export function Hits({ search, query, onHit }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const list = useVirtualizer({
    count: search.hits.length,
    getScrollElement: () => box.current,
    estimateSize: () => 64,
    overscan: 8,
  });
  return (
    <section className="outline hits" aria-label="found">
      <p className="hits-head" role="status">
        {said(search, query)}
      </p>
      <div className="outline-scroll" ref={box} tabIndex={-1}>
        <VirtualRows list={list}>{(index) => <HitRow hit={search.hits[index] as Hit} onHit={onHit} />}</VirtualRows>
      </div>
    </section>
  );
}

function HitRow({ hit, onHit }: { hit: Hit; onHit(hit: Hit): void }) {
  return (
    <button type="button" className="hit" onClick={() => onHit(hit)}>
      <span className="hit-where">
        {hit.agent && "◇ "}turn {exact(hit.turn)} · {hit.where}
      </span>
      <span className="hit-text">
        <Plain text={hit.before} />
        <mark>
          <Plain text={hit.match} />
        </mark>
        <Plain text={hit.after} />
      </span>
    </button>
  );
}

function said({ hits, done, searched, total, error }: Search, query: string): string {
  if (error) return error.message;
  if (!done) return `${plural(hits.length, "place")} so far, ${exact(searched)} of ${exact(total)} read`;
  return hits.length ? plural(hits.length, "place") : `“${query}” is nowhere in this session`;
}
