/** All sessions, one row each, and search over all of them. */

import { useEffect, useLayoutEffect, useMemo, useState } from "react";
import { useLibraryStore, useSource } from "../contexts";
import { listHref, type Filters, type ListRoute } from "../route";
import { caveats } from "../kit/Figure";
import { exact, exactMoney, money, plural, tokens } from "../kit/format";
import { saveScroll, useKeptScroll } from "../kit/keepScroll";
import { useKept } from "../kit/kept";
import { SearchField } from "../kit/SearchField";
import { useSelector, useVersion } from "../kit/store";
import { Bar } from "../shell/Bar";
import { useShortcuts } from "../shell/shortcuts";
import { Empty, LoadError, Loading } from "../shell/PageStates";
import { runningKeys, useRunning, useRunningKeys } from "../data/running";
import type { Order } from "../data/source";
import type { Library, LibraryRow } from "../data/values";
import { FilterBar } from "./FilterBar";
import { GROUPS, isEmptySession, listRows, matchesWords, parseSort, type Group } from "./groupSessions";
import { passes, sessionsByDay } from "./libraryFilters";
import { LibrarySearcher } from "./librarySearch";
import { listState, saveListState } from "./listState";
import { NowPanel } from "./NowPanel";
import { firstResult, SearchResults, STEPS } from "./SearchResults";
import { SessionList } from "./SessionList";
import { sumFigures } from "./SessionRow";
import { YearStrip } from "./YearStrip";

export function LibraryPage({ route }: { route: ListRoute }) {
  const source = useSource();
  const store = useLibraryStore();
  const searcher = useMemo(() => new LibrarySearcher(source), [source]);
  useVersion(searcher);
  const library = useSelector(store, ({ library }) => library);
  const failed = useSelector(store, ({ failed }) => failed);
  useEffect(store.load, [store]);
  useEffect(() => {
    store.onGrowth.add(searcher.refresh);
    return () => void store.onGrowth.delete(searcher.refresh);
  }, [store, searcher]);
  const now = useRunning();
  const running = useMemo(() => runningKeys(now), [now]);
  const group: Group = GROUPS.find((name) => name === route.group) ?? GROUPS[0];
  const sort = useMemo(() => parseSort(route.sort), [route.sort]);
  const [filter, setFilter] = useState(route.filter);
  const [order, setOrder] = useState<Order>(route.order);
  const [count, setCount] = useState<number>(listState().texts || STEPS[0]);
  const [allSessions, setAllSessions] = useState(listState().allSessions);
  const [toggled, setToggled] = useState<ReadonlySet<string>>(() => new Set(listState().toggled));
  useLayoutEffect(() => {
    setFilter(route.filter);
    setOrder(route.order);
    setCount(listState().texts || STEPS[0]);
    setAllSessions(listState().allSessions);
    setToggled(new Set(listState().toggled));
  }, [route]);
  useEffect(() => saveListState({ texts: count, allSessions, toggled: [...toggled] }), [count, allSessions, toggled]);
  /** In place: a list in which one types is still the same page. */
  const replace = (changes: Partial<ListRoute>) => history.replaceState(history.state, "", listHref({ ...route, filter, order, ...changes }));
  /** Another list, which Back undoes; what is folded stays so. */
  const choose = (changes: Partial<ListRoute>) => {
    location.assign(listHref({ ...route, filter, order, ...changes }));
    saveListState({ toggled: [...toggled] });
    saveScroll(scrollY);
  };
  const narrow = (changes: Filters) => choose({ only: Object.fromEntries(Object.entries({ ...route.only, ...changes }).filter(([, value]) => value)) });
  const toggle = (key: string) => setToggled((before) => new Set(before.has(key) ? [...before].filter((one) => one !== key) : [...before, key]));
  const searching = filter.trim() !== "";
  useEffect(() => searcher.ask({ query: filter, order, count }), [searcher, filter, order, count]);
  useEffect(() => searcher.close, [searcher]);
  useKeptScroll();
  useShortcuts({
    searchAll: () => document.querySelector<HTMLInputElement>(".bar input[type=search]")?.focus(),
    nextRow: () => focusRow(1),
    previousRow: () => focusRow(-1),
    starRow: () => {
      const row = library?.sessions.find(({ key }) => key === focusedKey());
      if (row) store.star(row);
    },
  });
  const change = (text: string) => {
    scrollTo(0, 0);
    setFilter(text);
    replace({ filter: text });
    setCount(STEPS[0]);
    setAllSessions(false);
  };
  const [showEmpty, setShowEmpty] = useKept("without a prompt", false);
  const [showPrompts, setShowPrompts] = useKept("prompts only", false);
  const [showArchived, setShowArchived] = useKept("archived", false);
  const all = useMemo(() => library?.sessions ?? [], [library]);
  const filtered = useMemo(() => all.filter((row) => passes(row, route.only, running)), [all, route.only, running]);
  const listed = useMemo(
    () => filtered.filter((row) => (showPrompts || !row.prompts_only || row.starred) && (showEmpty || !isEmptySession(row)) && (showArchived || !row.archived)),
    [filtered, showEmpty, showPrompts, showArchived],
  );
  const rows = useMemo(() => (searching ? [] : listRows(listed, { group, sort, toggled })), [searching, listed, group, sort, toggled]);
  const prompts = filtered.filter((row) => row.prompts_only && !row.starred).length;
  const empty = filtered.filter((row) => isEmptySession(row) && !row.prompts_only).length;
  const archived = filtered.filter((row) => row.archived).length;
  const narrowed = Object.keys(route.only).length > 0;
  return (
    <>
      <Bar page="library">
        <SearchField
          label="Search all sessions"
          value={filter}
          onChange={change}
          onEnter={() => !searcher.waiting && firstResult()?.click()}
          onDown={() => firstResult()?.focus()}
        />
      </Bar>
      <main className="library">
        <h1 className="visually-hidden">Sessions</h1>
        {failed && <LoadError error={failed} onRetry={store.reload} />}
        {!failed && !library && <Loading />}
        {library && !failed && (
          <>
            {library.demo && !searching && (
              <p className="demo">
                These are the bundled sample sessions. Run <code>reread</code> without <code>--demo</code> to see your own.
              </p>
            )}
            {now && !searching && now.sessions.length > 0 && <NowPanel now={now} />}
            {searching ? (
              <SearchResults
                searcher={searcher}
                sessions={all.filter((row) => passes(row, route.only, running) && matchesWords(row, filter))}
                query={filter}
                count={count}
                onCount={setCount}
                allSessions={allSessions}
                onAllSessions={() => setAllSessions(true)}
                sort={sort}
                onSort={(sort) => choose({ sort })}
                order={order}
                onOrder={(order) => {
                  setOrder(order);
                  replace({ order });
                }}
                onQuery={change}
              />
            ) : all.length ? (
              <>
                <Strip library={library} listed={listed} only={route.only} onChoose={({ from = "", to = "" }) => narrow({ from, to })} />
                <div className="list-controls">
                  <FilterBar sessions={all} only={route.only} group={group} onGroup={(group) => choose({ group: group === GROUPS[0] ? "" : group })} onChange={narrow} />
                  <span className="library-count muted num" role="status">
                    {narrowed ? `${exact(listed.length)} of ${exact(all.length)}` : ""}
                  </span>
                </div>
                {rows.length > 0 && <SessionList rows={rows} sort={sort} onSort={(sort) => choose({ sort })} onStar={store.star} onToggle={toggle} />}
                {!rows.length && <NothingListed only={route.only} hidden={empty + prompts + archived} onClear={() => choose({ only: {} })} />}
                <Hidden count={empty} what="without a prompt" shown={showEmpty} onShow={setShowEmpty} />
                <Hidden count={prompts} what="of which only the prompts are left" shown={showPrompts} onShow={setShowPrompts} />
                <Hidden count={archived} what="in the archive" shown={showArchived} onShow={setShowArchived} />
              </>
            ) : (
              <NoSessions library={library} />
            )}
          </>
        )}
      </main>
    </>
  );
}

/** One quiet line: a year of days, and the totals of what is listed. */
function Strip({ library, listed, only, onChoose }: { library: Library; listed: LibraryRow[]; only: Filters; onChoose(days: { from?: string; to?: string }): void }) {
  const { from, to, ...rest } = only;
  const others = JSON.stringify(rest);
  const running = useRunningKeys();
  const counts = useMemo(() => sessionsByDay(library.sessions.filter((row) => passes(row, rest, running))), [library, others, running]);
  const figures = useMemo(() => sumFigures(listed.flatMap((row) => row.figures ?? [])), [listed]);
  const bounds = figures ? caveats(figures) : [];
  return (
    <div className="strip">
      <YearStrip counts={counts} from={from} to={to} onChoose={onChoose} />
      <p className="strip-totals num">
        <span>{plural(listed.length, "session")}</span>
        {figures && (
          <>
            <span title={`${exact(figures.tokens)} tokens`}>{tokens(figures.tokens)} tokens</span>
            {figures.cost_usd !== null && <span title={[exactMoney(figures.cost_usd), ...bounds].join("\n")}>{money(figures.cost_usd, bounds.length > 0)}</span>}
          </>
        )}
        {library.pending > 0 && <span className="muted">counting {exact(library.pending)}…</span>}
      </p>
    </div>
  );
}

/** How many sessions of a kind are hidden, and a button that shows them. */
function Hidden({ count, what, shown, onShow }: { count: number; what: string; shown: boolean; onShow: (shown: boolean) => void }) {
  if (!count) return null;
  return (
    <p className="muted hidden-sessions">
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

function NothingListed({ only, hidden, onClear }: { only: Filters; hidden: number; onClear(): void }) {
  if (!Object.keys(only).length) return hidden ? null : <p className="note">No sessions.</p>;
  return (
    <div className="note nothing">
      <p>
        No session has all of these.{" "}
        <button type="button" className="link-button" onClick={onClear}>
          Remove the filters
        </button>
      </p>
      {only.starred && (
        <p>
          Press <kbd>s</kbd> on a row, or the star beside it, to star a session.
        </p>
      )}
      {only.captured && (
        <p>
          Sessions captured with <code>reread capture -- claude -p "…"</code> appear here.
        </p>
      )}
      {only.kept && (
        <p>
          <code>reread keep</code> copies sessions to where Claude Code does not delete them.
        </p>
      )}
    </div>
  );
}

function NoSessions({ library }: { library: Library }) {
  return (
    <Empty title="No sessions yet">
      <p>
        Run <code>claude</code> in any folder, and its session appears here. reread looks in:
      </p>
      <ul>
        {[...new Set(library.roots)].map((root) => (
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
