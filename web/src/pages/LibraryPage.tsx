/** Every session, one line each. */

import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useSource } from "../contexts";
import { Choices } from "../kit/Choices";
import { SearchField } from "../kit/SearchField";
import { toError } from "../kit/useAsked";
import { plural } from "../kit/words";
import { useKeys } from "../session/useKeys";
import { Bar } from "../shell/Bar";
import { Empty, Failed, Waiting } from "../shell/States";
import type { Library } from "../values";
import { ProjectRow, SessionRow } from "./SessionRow";
import { arranged, fits, SORTS, type Row, type Sort } from "./shelves";

const ROW = 36;

export function LibraryPage({ captured }: { captured: boolean }) {
  const { library, failed, again } = useLibrary();
  const [filter, setFilter] = useState("");
  const [sort, setSort] = useState<Sort>("newest");
  useKeys({ "/": () => document.querySelector<HTMLInputElement>(".bar input[type=search]")?.focus() });
  const sessions = useMemo(
    () => (library?.sessions ?? []).filter((row) => (!captured || row.captured) && fits(row, filter)),
    [library, captured, filter],
  );
  const rows = useMemo(() => arranged(sessions, sort), [sessions, sort]);
  return (
    <>
      <Bar page={captured ? "captured" : "library"}>
        <SearchField label="filter sessions" value={filter} onChange={setFilter}>
          {filter && <span className="search-count num">{plural(sessions.length, "session")}</span>}
        </SearchField>
      </Bar>
      <main className="library">
        <h1 className="hidden">{captured ? "Captured sessions" : "Sessions"}</h1>
        {failed && <Failed error={failed} again={again} />}
        {!failed && !library && <Waiting />}
        {library && !failed && (
          <>
            {library.demo && <p className="demo">These are the bundled sample sessions. Without --demo, your own are here.</p>}
            {rows.length ? (
              <>
                <p className="sort-by">
                  <Choices label="sort by" options={SORTS} value={sort} onChoose={setSort} />
                  {library.pending > 0 && <span className="faint num">counting {plural(library.pending, "session")}…</span>}
                </p>
                <Rows rows={rows} />
              </>
            ) : (
              <Nothing library={library} filter={filter} captured={captured} />
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
  const [asked, setAsked] = useState(0);
  useEffect(() => {
    document.title = "reread";
    let current = true;
    const ask = () =>
      source.library().then(
        (value) => {
          if (!current) return;
          setLibrary(value);
          setFailed(null);
        },
        (error: unknown) => current && setFailed(toError(error)),
      );
    void ask();
    const unwatch = source.watchLibrary({
      changed: () => void ask(),
      listed: (row) =>
        setLibrary((before) => before && { ...before, sessions: before.sessions.map((old) => (old.key === row.key ? row : old)) }),
    });
    return () => {
      current = false;
      unwatch();
    };
  }, [source, asked]);
  return { library, failed, again: () => setAsked(asked + 1) };
}

function Rows({ rows }: { rows: Row[] }) {
  const box = useRef<HTMLDivElement>(null);
  const [margin, setMargin] = useState(0);
  useLayoutEffect(() => setMargin(box.current?.offsetTop ?? 0));
  const list = useWindowVirtualizer({ count: rows.length, estimateSize: () => ROW, overscan: 12, scrollMargin: margin });
  return (
    <div className="library-rows" ref={box} style={{ height: list.getTotalSize() }}>
      {list.getVirtualItems().map((item) => {
        const row = rows[item.index];
        if (!row) return null;
        return (
          <div
            key={item.key}
            data-index={item.index}
            ref={list.measureElement}
            className="library-row"
            style={{ transform: `translateY(${item.start - margin}px)` }}
          >
            {"session" in row ? <SessionRow session={row.session} alone={row.alone} /> : <ProjectRow shelf={row} />}
          </div>
        );
      })}
    </div>
  );
}

function Nothing({ library, filter, captured }: { library: Library; filter: string; captured: boolean }) {
  if (filter) {
    return (
      <Empty title={`Nothing fits “${filter}”`}>
        <p>Titles, projects, branches, models and ids are looked through. Inside a session, / searches its text.</p>
      </Empty>
    );
  }
  if (captured) {
    return (
      <Empty title="Nothing captured yet">
        <p>
          Runs kept with <code>reread capture -- claude -p "…"</code> appear here.
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="No sessions yet">
      <p>Claude Code leaves its sessions here, and each will be a line on this page:</p>
      <ul>
        {library.roots.map((root) => (
          <li key={root}>
            <code>{root}</code>
          </li>
        ))}
      </ul>
      <p>
        Somewhere else? <code>reread --root DIR serve</code>. To look around: <code>reread --demo</code>.
      </p>
    </Empty>
  );
}
