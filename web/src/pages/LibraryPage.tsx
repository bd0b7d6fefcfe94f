/** All sessions, one row each, and search over all of them. */

import { useEffect, useLayoutEffect, useMemo, useState } from "react";
import { useSource } from "../contexts";
import { listHref, type ListRoute } from "../route";
import { ChipGroup } from "../kit/ChipGroup";
import { plural } from "../kit/format";
import { SearchField } from "../kit/SearchField";
import { useVersion } from "../kit/store";
import { Bar } from "../shell/Bar";
import { useShortcuts } from "../shell/shortcuts";
import { Empty, LoadError, Loading } from "../shell/PageStates";
import type { Order } from "../data/source";
import type { Library } from "../data/values";
import { isEmptySession, listRows, matchesWords, sortName, SORTS, type Sort } from "./groupSessions";
import { LibrarySearcher } from "./librarySearch";
import { listState, saveListState, useKeptScroll } from "./listState";
import { NowPanel } from "./NowPanel";
import { firstResult, SearchResults, STEPS } from "./SearchResults";
import { SessionList } from "./SessionList";
import { useLibrary } from "./useLibrary";

export function LibraryPage({ route }: { route: ListRoute }) {
  const captured = route.page === "captured";
  const source = useSource();
  const searcher = useMemo(() => new LibrarySearcher(source), [source]);
  useVersion(searcher);
  const { library, now, failed, retry, star } = useLibrary(searcher.refresh);
  const waiting = now?.waiting ?? 0;
  useEffect(() => {
    document.title = waiting ? `(${waiting}) reread` : "reread";
  }, [waiting]);
  const named = SORTS.find((name) => name === route.sort) ?? SORTS[0];
  const [filter, setFilter] = useState(route.filter);
  const [sort, setSort] = useState<Sort>(named);
  const [starred, setStarred] = useState(route.starred);
  const [order, setOrder] = useState<Order>(route.order);
  const [count, setCount] = useState<number>(listState().texts || STEPS[0]);
  const [allSessions, setAllSessions] = useState(listState().allSessions);
  useLayoutEffect(() => {
    setFilter(route.filter);
    setSort(named);
    setStarred(route.starred);
    setOrder(route.order);
    setCount(listState().texts || STEPS[0]);
    setAllSessions(listState().allSessions);
  }, [route, named]);
  useEffect(() => {
    // In place: a list that is filtered is still the same page.
    const address = listHref({ page: route.page, filter, sort: sort === SORTS[0] ? "" : sort, order, starred });
    history.replaceState(history.state, "", address);
    saveListState({ texts: count, allSessions });
  }, [route.page, filter, sort, order, starred, count, allSessions]);
  const searching = !captured && filter.trim() !== "";
  useEffect(() => {
    searcher.ask({ query: captured ? "" : filter, order, count });
  }, [searcher, captured, filter, order, count]);
  useEffect(() => searcher.close, [searcher]);
  useKeptScroll();
  useShortcuts({
    searchAll: () => document.querySelector<HTMLInputElement>(".bar input[type=search]")?.focus(),
    nextRow: () => focusRow(1),
    previousRow: () => focusRow(-1),
    starRow: () => {
      const row = sessions.find(({ key }) => key === focusedKey());
      if (row) star(row);
    },
  });
  const change = (text: string) => {
    scrollTo(0, 0);
    setFilter(text);
    setCount(STEPS[0]);
    setAllSessions(false);
  };
  const sessions = useMemo(
    () => (library?.sessions ?? []).filter((row) => (!captured || row.captured) && (!starred || row.starred) && matchesWords(row, filter)),
    [library, captured, starred, filter],
  );
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set());
  const [showEmpty, setShowEmpty] = useState(false);
  const [showPrompts, setShowPrompts] = useState(false);
  const whole = useMemo(() => sessions.filter((row) => !row.prompts_only || row.starred), [sessions]);
  const prompts = sessions.length - whole.length;
  const empty = useMemo(() => whole.filter(isEmptySession).length, [whole]);
  const rows = useMemo(
    () => listRows((showPrompts ? sessions : whole).filter((row) => showEmpty || !isEmptySession(row)), sort, unfolded),
    [sessions, whole, sort, unfolded, showEmpty, showPrompts],
  );
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
            {now && !searching && !captured && now.sessions.length > 0 && <NowPanel now={now} />}
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
                onQuery={setFilter}
              />
            ) : rows.length || empty || prompts || starred ? (
              <>
                <p className="sort-by">
                  <ChipGroup label="Sort by" options={SORTS} value={sort} name={sortName} onChoose={setSort} />
                  {(starred || sessions.some((row) => row.starred)) && (
                    <button type="button" className="chip" aria-pressed={starred} onClick={() => setStarred(!starred)}>
                      ★ Starred
                    </button>
                  )}
                  {library.pending > 0 && <span className="muted num">Counting {plural(library.pending, "session")}…</span>}
                  <span className="library-count muted num">
                    {plural(whole.length, "session")} in {plural(new Set(whole.map(({ project }) => project)).size, "project")}
                  </span>
                </p>
                {starred && !rows.length && <p className="note">No session is starred. Press <kbd>s</kbd> on a row, or the star beside it.</p>}
                <SessionList rows={rows} onStar={star} onUnfold={(key) => setUnfolded(new Set([...unfolded, key]))} />
                <Hidden count={empty} what="without a prompt" shown={showEmpty} onShow={setShowEmpty} />
                <Hidden count={prompts} what="of which only the prompts are left" shown={showPrompts} onShow={setShowPrompts} />
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

/** How many sessions of a kind are hidden, and a button that shows them. */
function Hidden({ count, what, shown, onShow }: { count: number; what: string; shown: boolean; onShow: (shown: boolean) => void }) {
  if (!count) return null;
  return (
    <p className="muted">
      {plural(count, "session")} {what} {shown ? "shown" : "hidden"}{" "}
      <button type="button" className="link-button" onClick={() => onShow(!shown)}>
        {shown ? "Hide" : "Show"}
      </button>
    </p>
  );
}

/** The key of the session whose row has the focus. */
const focusedKey = (): string | undefined => (document.activeElement as HTMLElement | null)?.dataset.session;

/** Focus the next row, or the first one on the screen; Enter follows it, as it does any link. */
function focusRow(step: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>(".session-row, .hit-row")];
  const at = rows.indexOf(document.activeElement as HTMLElement);
  const onScreen = rows.findIndex((row) => row.getBoundingClientRect().top >= 0);
  const row = rows[at < 0 ? onScreen : at + step];
  row?.focus({ preventScroll: true });
  row?.scrollIntoView({ block: "nearest" });
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
