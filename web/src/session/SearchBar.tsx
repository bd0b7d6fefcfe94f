/** The search field of a session, with the number of hits and a way through them. */

import { exact } from "../kit/format";
import { SearchField } from "../kit/SearchField";
import type { SearchHit } from "../data/values";
import { useCurrentHit, type Search } from "./useSearch";

interface Props {
  query: string;
  onQuery(query: string): void;
  search: Search;
  /** The hit that was gone to last, if any. */
  current: SearchHit | null;
  onStep(hit: SearchHit): void;
}

export function SearchBar({ query, onQuery, search, current, onStep }: Props) {
  const at = useCurrentHit(search.hits, current);
  const count = search.hits.length;
  const step = (by: number) => {
    const next = at < 0 && by < 0 ? count - 1 : (at + by + count) % (count || 1);
    const hit = search.hits[next];
    if (hit) onStep(hit);
  };
  return (
    <SearchField
      label="Search this session"
      value={query}
      onChange={onQuery}
      onEnter={(backwards) => step(backwards ? -1 : 1)}
    >
      {query && (
        <>
          <span className="search-count num" role="status">
            {at >= 0 && `${exact(at + 1)} of `}
            {exact(count)}
            {!search.done && "…"}
          </span>
          <span className="search-steps" role="group" aria-label="Hits">
            <button type="button" className="link-button" aria-label="Previous hit" disabled={!count} onClick={() => step(-1)}>
              ‹
            </button>
            <button type="button" className="link-button" aria-label="Next hit" disabled={!count} onClick={() => step(1)}>
              ›
            </button>
          </span>
        </>
      )}
    </SearchField>
  );
}
