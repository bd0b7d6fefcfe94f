/** The search field of a session, with the number of hits. */

import { useEffect, useState } from "react";
import { SearchField } from "../kit/SearchField";
import { exact } from "../kit/format";
import type { SearchHit } from "../values";
import type { Search } from "./useSearch";

interface Props {
  query: string;
  onQuery(query: string): void;
  search: Search;
  onHit(hit: SearchHit): void;
}

export function SearchBar({ query, onQuery, search, onHit }: Props) {
  const [current, setCurrent] = useState(-1);
  useEffect(() => setCurrent(-1), [query]);
  const step = (by: number) => {
    const count = search.hits.length;
    if (!count) return;
    const next = current < 0 && by < 0 ? count - 1 : (current + by + count) % count;
    setCurrent(next);
    onHit(search.hits[next] as SearchHit);
  };
  return (
    <SearchField
      label="Search this session"
      value={query}
      onChange={onQuery}
      onEnter={(backwards) => step(backwards ? -1 : 1)}
    >
      {query && (
        <span className="search-count num" role="status">
          {current >= 0 && `${exact(current + 1)} of `}
          {exact(search.hits.length)}
          {!search.done && "…"}
        </span>
      )}
    </SearchField>
  );
}
