/** All sessions, one row each, and search over all of them. */

import { useEffect, useLayoutEffect, useMemo, useState } from "react";
import { useSource } from "../contexts";
import { listHref, type ListRoute } from "../route";
import { ChipGroup } from "../kit/ChipGroup";
import { capitalized, plural } from "../kit/format";
import { SearchField } from "../kit/SearchField";
import { useVersion } from "../kit/store";
import { toError } from "../kit/toError";
import { useKeys } from "../kit/useKeys";
import { Bar } from "../shell/Bar";
import { Empty, LoadError, Loading } from "../shell/PageStates";
import type { Order } from "../source";
import type { Library } from "../values";
import { listRows, matchesWords, SORTS, type Sort } from "./groupSessions";
import { LibrarySearcher } from "./librarySearch";
import { listState, saveListState, useSavedScroll } from "./listState";
import { firstResult, SearchResults, STEPS } from "./SearchResults";
import { SessionList } from "./SessionList";

export function LibraryPage({ route }: { route: ListRoute }) {
  const captured = route.page === "captured";
  const source = useSource();
  const searcher = useMemo(() => new LibrarySearcher(source), [source]);
  useVersion(searcher);
  const { library, failed, retry } = useLibrary(searcher.refresh);
  const named = SORTS.find((name) => name === route.sort) ?? SORTS[0];
  const [filter, setFilter] = useState(route.filter);
  const [sort, setSort] = useState<Sort>(named);
  const [order, setOrder] = useState<Order>(route.order);
  const [count, setCount] = useState<number>(listState().texts || STEPS[0]);
  const [allSessions, setAllSessions] = useState(listState().allSessions);
  useLayoutEffect(() => {
    setFilter(route.filter);
    setSort(named);
    setOrder(route.order);
    setCount(listState().texts || STEPS[0]);
    setAllSessions(listState().allSessions);
  }, [route, named]);
  useEffect(() => {
    // In place: a list that is filtered is still the same page.
    const address = listHref({ page: route.page, filter, sort: sort === SORTS[0] ? "" : sort, order });
    history.replaceState(history.state, "", address);
    saveListState({ texts: count, allSessions });
  }, [route.page, filter, sort, order, count, allSessions]);
  const searching = !captured && filter.trim() !== "";
  useEffect(() => {
    searcher.ask({ query: captured ? "" : filter, order, count });
  }, [searcher, captured, filter, order, count]);
  useEffect(() => searcher.close, [searcher]);
  useSavedScroll();
  useKeys({ "/": () => document.querySelector<HTMLInputElement>(".bar input[type=search]")?.focus() });
  const change = (text: string) => {
    setFilter(text);
    setCount(STEPS[0]);
    setAllSessions(false);
  };
  const sessions = useMemo(
    () => (library?.sessions ?? []).filter((row) => (!captured || row.captured) && matchesWords(row, filter)),
    [library, captured, filter],
  );
  const rows = useMemo(() => listRows(sessions, sort), [sessions, sort]);
  return (
    <>
      <Bar page={captured ? "captured" : "library"}>
        <SearchField
          label={captured ? "Filter captured sessions" : "Search all sessions"}
          value={filter}
          onChange={change}
          onEnter={() => !searcher.waiting && firstResult()?.click()}
          onDown={() => firstResult()?.focus()}
        >
          {filter && captured && <span className="search-count num">{plural(sessions.length, "session")}</span>}
        </SearchField>
      </Bar>
      <main className="library">
        <h1 className="visually-hidden">{captured ? "Captured sessions" : "Sessions"}</h1>
        {failed && <LoadError error={failed} onRetry={retry} />}
        {!failed && !library && <Loading />}
        {library && !failed && (
          <>
            {library.demo && !searching && (
              <p className="demo">
                These are the bundled sample sessions. Run <code>reread</code> without <code>--demo</code> to see your own.
              </p>
            )}
            {searching ? (
              <SearchResults
                searcher={searcher}
                sessions={sessions}
                query={filter}
                count={count}
                onCount={setCount}
                allSessions={allSessions}
                onAllSessions={() => setAllSessions(true)}
                sort={sort}
                onSort={setSort}
                order={order}
                onOrder={setOrder}
              />
            ) : rows.length ? (
              <>
                <p className="sort-by">
                  <ChipGroup label="Sort by" options={SORTS} value={sort} name={capitalized} onChoose={setSort} />
                  {library.pending > 0 && <span className="muted num">Counting {plural(library.pending, "session")}…</span>}
                </p>
                <SessionList rows={rows} />
              </>
            ) : (
              <NoSessions library={library} filter={filter} captured={captured} />
            )}
          </>
        )}
      </main>
    </>
  );
}

/** The list of sessions, kept up to date; `onGrowth` is called if there are new texts. */
function useLibrary(onGrowth: () => void) {
  const source = useSource();
  const [library, setLibrary] = useState<Library | null>(null);
  const [failed, setFailed] = useState<Error | null>(null);
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    document.title = "reread";
    let current = true;
    const load = () =>
      source.library().then(
        (value) => {
          if (!current) return;
          setLibrary(value);
          setFailed(null);
        },
        (error: unknown) => current && setFailed(toError(error)),
      );
    void load();
    const sizes = new Map<string, number>();
    const stop = source.watchLibrary({
      changed: () => {
        void load();
        onGrowth();
      },
      row: (row) => {
        setLibrary((before) => before && { ...before, sessions: before.sessions.map((old) => (old.key === row.key ? row : old)) });
        if (sizes.get(row.key) !== row.size) onGrowth(); // else its turns and tokens were counted
        sizes.set(row.key, row.size);
      },
    });
    return () => {
      current = false;
      stop();
    };
  }, [source, attempt, onGrowth]);
  return { library, failed, retry: () => setAttempt(attempt + 1) };
}

function NoSessions({ library, filter, captured }: { library: Library; filter: string; captured: boolean }) {
  if (filter) {
    return (
      <Empty title={`No sessions match “${filter}”`}>
        <p>This searches the titles, projects, branches, models and ids of captured sessions.</p>
      </Empty>
    );
  }
  if (captured) {
    return (
      <Empty title="No captured sessions yet">
        <p>
          Sessions captured with <code>reread capture -- claude -p "…"</code> appear here.
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="No sessions yet">
      <p>reread looks for Claude Code sessions in:</p>
      <ul>
        {library.roots.map((root) => (
          <li key={root}>
            <code>{root}</code>
          </li>
        ))}
      </ul>
      <p>
        To use another folder, run <code>reread --root DIR serve</code>. To see sample sessions, run <code>reread --demo</code>.
      </p>
    </Empty>
  );
}
