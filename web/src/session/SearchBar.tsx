/** Search in the session: every text in it, on the screen or not. */

import { useEffect, useState } from "react";
import { SearchField } from "../kit/SearchField";
import { exact } from "../kit/words";
import type { Hit } from "../values";
import type { Search } from "./useSearch";

interface Props {
  query: string;
  onQuery(query: string): void;
  search: Search;
  onHit(hit: Hit): void;
}

export function SearchBar({ query, onQuery, search, onHit }: Props) {
  const [at, setAt] = useState(-1);
  useEffect(() => setAt(-1), [query]);
  const step = (by: number) => {
    const count = search.hits.length;
    if (!count) return;
    const next = at < 0 && by < 0 ? count - 1 : (at + by + count) % count;
    setAt(next);
    onHit(search.hits[next] as Hit);
  };
  return (
    <SearchField
      label="search this session"
      value={query}
      onChange={onQuery}
      onEnter={(backwards) => step(backwards ? -1 : 1)}
    >
      {query && (
        <span className="search-count num" role="status">
          {at >= 0 && `${exact(at + 1)} of `}
          {exact(search.hits.length)}
          {!search.done && "…"}
        </span>
      )}
    </SearchField>
  );
}
