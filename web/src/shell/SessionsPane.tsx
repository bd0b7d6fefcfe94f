/** The list of sessions beside a session. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useState } from "react";
import { useLibraryStore } from "../contexts";
import { when } from "../kit/format";
import { useRunningKeys } from "../data/running";
import { LiveDot } from "../kit/LiveDot";
import { PlainText } from "../kit/PlainText";
import { useSelector } from "../kit/store";
import { VirtualRows } from "../kit/VirtualRows";
import { isEmptySession, matchesWords } from "../pages/groupSessions";
import { sessionHref } from "../route";
import type { LibraryRow } from "../data/values";

const ROW = 52;

/** What the list shows, which stays when the page is left. */
const left = { filter: "", top: 0 };

export function SessionsPane({ current }: { current: string }) {
  const store = useLibraryStore();
  const [filter, setFilter] = useState(left.filter);
  const visits = useVisits(current);
  useEffect(store.refresh, [store, visits]);
  const library = useSelector(store, ({ library }) => library);
  const failed = useSelector(store, ({ failed }) => failed);
  const sessions = useMemo(
    () => (library?.sessions ?? []).filter((row) => (row.key === current || !(isEmptySession(row) || row.prompts_only)) && matchesWords(row, filter)),
    [library, filter, current],
  );
  const scroller = useRef<HTMLDivElement>(null);
  const list = useVirtualizer({
    count: sessions.length,
    estimateSize: () => ROW,
    getScrollElement: () => scroller.current,
    initialOffset: () => left.top,
    overscan: 8,
  });
  const at = sessions.findIndex(({ key }) => key === current);
  const ready = library !== null;
  useEffect(() => {
    const { scrollTop: top = 0, clientHeight: height = 0 } = scroller.current ?? {};
    const isShown = at * ROW >= top && (at + 1) * ROW <= top + height;
    if (ready && at >= 0 && !isShown) list.scrollToIndex(at, { align: "center" });
  }, [current, ready]);
  return (
    <aside className="sessions-pane" aria-label="Sessions">
      <input
        type="search"
        aria-label="Filter sessions"
        placeholder="Filter sessions"
        value={filter}
        onChange={(event) => setFilter((left.filter = event.target.value))}
      />
      <div className="pane-scroll" ref={scroller} onScroll={(event) => (left.top = event.currentTarget.scrollTop)}>
        {failed && <p className="note error">{failed.message}</p>}
        {ready && !sessions.length && <p className="note">No sessions match.</p>}
        <VirtualRows list={list}>{(index) => sessions[index] && <PaneRow row={sessions[index]} isCurrent={index === at} />}</VirtualRows>
      </div>
    </aside>
  );
}

function PaneRow({ row, isCurrent }: { row: LibraryRow; isCurrent: boolean }) {
  return (
    <a className="pane-row" href={sessionHref({ session: row.key })} aria-current={isCurrent ? "page" : undefined}>
      <span className="pane-title">
        {useRunningKeys().has(row.key) && <LiveDot />} {row.starred && "★ "}
        <PlainText as="bdi" text={row.title || "(no prompt yet)"} />
      </span>
      <span className="pane-facts">
        <PlainText text={row.project.split(/[\\/]/).filter(Boolean).at(-1) ?? ""} />
        {row.updated && <span>{when(row.updated)}</span>}
      </span>
    </a>
  );
}

/** Grows with every session that is opened and every return to the tab: then the list is loaded again. */
function useVisits(current: string): number {
  const [visits, setVisits] = useState(0);
  useEffect(() => {
    const visited = () => !document.hidden && setVisits((before) => before + 1);
    addEventListener("visibilitychange", visited);
    return () => removeEventListener("visibilitychange", visited);
  }, []);
  useEffect(() => setVisits((before) => before + 1), [current]);
  return visits;
}
