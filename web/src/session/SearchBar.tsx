/** The search field of a session, with the number of hits and a way through them. */

import { useThreadStore } from "../contexts";
import { exact } from "../kit/format";
import { SearchField } from "../kit/SearchField";
import { useVersion } from "../kit/store";
import type { SearchHit } from "../data/values";
import type { Search } from "./useSearch";

interface Props {
  query: string;
  onQuery(query: string): void;
  search: Search;
  /** The hit that was gone to last, if any. */
  current: SearchHit | null;
  onStep(hit: SearchHit): void;
}

export function SearchBar({ query, onQuery, search, current, onStep }: Props) {
  const at = useCurrent(search.hits, current);
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

const isSame = (a: SearchHit, b: SearchHit): boolean =>
  a.agent === b.agent && a.key === b.key && a.call === b.call && a.where === b.where && a.before === b.before;

/** The number of the current hit; if none was gone to, that of the message or call that a link led to; else -1. */
function useCurrent(hits: SearchHit[], current: SearchHit | null): number {
  const { position, thread } = useThreadStore();
  useVersion(position);
  if (current) return hits.findIndex((hit) => isSame(hit, current));
  return hits.findIndex(
    ({ agent, key, call }) =>
      (agent ?? undefined) === thread.agent && key === position.selected && (position.call === null || call === position.call),
  );
}
