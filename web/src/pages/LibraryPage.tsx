/** All sessions, one row each. */

import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useSource } from "../contexts";
import { listHref, type ListRoute } from "../route";
import { ChipGroup } from "../kit/ChipGroup";
import { capitalized, plural } from "../kit/format";
import { SearchField } from "../kit/SearchField";
import { toError } from "../kit/toError";
import { useKeys } from "../kit/useKeys";
import { Bar } from "../shell/Bar";
import { Empty, LoadError, Loading } from "../shell/PageStates";
import type { Library } from "../values";
import { listRows, matchesWords, SORTS, type ListRow, type Sort } from "./groupSessions";
import { ProjectRow, SessionRow } from "./SessionRow";

/** The height of a row that is not measured yet; on a phone it has two lines. */
const rowHeight = () => (matchMedia("(max-width: 640px)").matches ? 65 : 37);

export function LibraryPage({ route }: { route: ListRoute }) {
  const captured = route.page === "captured";
  const { library, failed, retry } = useLibrary();
  const named = SORTS.find((name) => name === route.sort) ?? SORTS[0];
  const [filter, setFilter] = useState(route.filter);
  const [sort, setSort] = useState<Sort>(named);
  useLayoutEffect(() => {
    setFilter(route.filter);
    setSort(named);
  }, [route.filter, named]);
  useEffect(() => {
    // In place: a list that is filtered is still the same page.
    history.replaceState(history.state, "", listHref(route.page, filter, sort === SORTS[0] ? "" : sort));
  }, [route.page, filter, sort]);
  useKeys({ "/": () => document.querySelector<HTMLInputElement>(".bar input[type=search]")?.focus() });
  const sessions = useMemo(
    () => (library?.sessions ?? []).filter((row) => (!captured || row.captured) && matchesWords(row, filter)),
    [library, captured, filter],
  );
  const rows = useMemo(() => listRows(sessions, sort), [sessions, sort]);
  return (
    <>
      <Bar page={captured ? "captured" : "library"}>
        <SearchField label="Filter sessions" value={filter} onChange={setFilter}>
          {filter && <span className="search-count num">{plural(sessions.length, "session")}</span>}
        </SearchField>
      </Bar>
      <main className="library">
        <h1 className="visually-hidden">{captured ? "Captured sessions" : "Sessions"}</h1>
        {failed && <LoadError error={failed} onRetry={retry} />}
        {!failed && !library && <Loading />}
        {library && !failed && (
          <>
            {library.demo && (
              <p className="demo">
                These are the bundled sample sessions. Run <code>reread</code> without <code>--demo</code> to see your own.
              </p>
            )}
            {rows.length ? (
              <>
                <p className="sort-by">
                  <ChipGroup label="Sort by" options={SORTS} value={sort} name={capitalized} onChoose={setSort} />
                  {library.pending > 0 && <span className="muted num">Counting {plural(library.pending, "session")}…</span>}
                </p>
                <Rows rows={rows} />
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

function useLibrary() {
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
    const stop = source.watchLibrary({
      changed: () => void load(),
      row: (row) =>
        setLibrary((before) => before && { ...before, sessions: before.sessions.map((old) => (old.key === row.key ? row : old)) }),
    });
    return () => {
      current = false;
      stop();
    };
  }, [source, attempt]);
  return { library, failed, retry: () => setAttempt(attempt + 1) };
}

function Rows({ rows }: { rows: ListRow[] }) {
  const container = useRef<HTMLDivElement>(null);
  const [margin, setMargin] = useState(0);
  useLayoutEffect(() => setMargin(container.current?.offsetTop ?? 0));
  useSavedScroll();
  const list = useWindowVirtualizer({
    count: rows.length,
    estimateSize: rowHeight,
    overscan: 12,
    scrollMargin: margin,
    initialOffset: savedTop,
  });
  return (
    <div className="library-rows" ref={container} style={{ height: list.getTotalSize() }}>
      {list.getVirtualItems().map((virtual) => {
        const row = rows[virtual.index];
        if (!row) return null;
        return (
          <div
            key={virtual.key}
            data-index={virtual.index}
            ref={list.measureElement}
            className="library-row"
            style={{ transform: `translateY(${virtual.start - margin}px)` }}
          >
            {"session" in row ? <SessionRow session={row.session} showProject={row.showProject} /> : <ProjectRow group={row} />}
          </div>
        );
      })}
    </div>
  );
}

/** The scroll position that was kept with this entry of the browser's history. */
const savedTop = (): number => (history.state as { listTop?: number } | null)?.listTop ?? 0;

/** Keep the scroll position with the entry of the browser's history. */
function useSavedScroll(): void {
  useEffect(() => {
    let timer = 0;
    const save = () => history.replaceState({ ...(history.state as object | null), listTop: scrollY }, "");
    const scrolled = () => {
      clearTimeout(timer);
      timer = window.setTimeout(save, 100);
    };
    addEventListener("scroll", scrolled, { passive: true });
    addEventListener("click", save, { capture: true }); // before a link is followed
    return () => {
      clearTimeout(timer);
      removeEventListener("scroll", scrolled);
      removeEventListener("click", save, { capture: true });
    };
  }, []);
}

function NoSessions({ library, filter, captured }: { library: Library; filter: string; captured: boolean }) {
  if (filter) {
    return (
      <Empty title={`No sessions match “${filter}”`}>
        <p>This searches titles, projects, branches, models and ids. To search the text of a session, open it and press /.</p>
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
