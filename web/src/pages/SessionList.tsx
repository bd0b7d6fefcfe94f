/** A list of sessions of any length: only the rows near the screen are rendered. */

import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { useSource } from "../contexts";
import { caveats } from "../kit/Figure";
import type { LibraryRow } from "../data/values";
import { ColumnHeads } from "./ColumnHeads";
import { groupKey, type GroupRow, type ListRow, type Sort } from "./groupSessions";
import { GroupHeading, RepeatsRowView, SessionRow, sumFigures } from "./SessionRow";

/** The height of a row; on a phone it has two lines. They are in the style sheet too. */
const rowHeight = () => (matchMedia("(max-width: 640px)").matches ? 56 : 32);
const HEADING = 44;
/** How long a screen has to be still before its sessions are counted first, in milliseconds. */
const STILL = 200;

interface Props {
  rows: ListRow[];
  sort: Sort;
  onSort(sort: string): void;
  /** Called with the key of a group to fold or unfold, or of repeats to show or hide. */
  onToggle?(key: string): void;
  onStar?(session: LibraryRow): void;
}

export function SessionList({ rows, sort, onSort, onToggle, onStar }: Props) {
  const container = useRef<HTMLDivElement>(null);
  const [margin, setMargin] = useState(0);
  useLayoutEffect(() => setMargin(container.current?.offsetTop ?? 0));
  const list = useWindowVirtualizer({
    count: rows.length,
    estimateSize: (index) => (rows[index]?.kind === "group" ? HEADING : rowHeight()),
    overscan: 12,
    scrollMargin: margin,
    initialOffset: () => scrollY,
  });
  const heads = useRef<HTMLDivElement>(null);
  const shownTop = (list.scrollOffset ?? 0) + (heads.current?.getBoundingClientRect().bottom ?? 0);
  const heading = headingAt(rows, list.getVirtualItemForOffset(shownTop)?.index ?? 0);
  const visible = list.getVirtualItems();
  useCountFirst(visible.flatMap(({ index }) => sessionsOf(rows[index])));
  return (
    <>
      <div className="sticky-heads" ref={heads}>
        <ColumnHeads sort={sort} onSort={onSort} lowerBound={lowerBound(rows)} />
        {heading && (
          <div className="sticky-heading" aria-hidden="true">
            <GroupHeading row={heading} quiet onToggle={() => onToggle?.(groupKey(heading.group, heading.name))} />
          </div>
        )}
      </div>
      <div className="library-rows" ref={container} style={{ height: list.getTotalSize() }}>
        {visible.map((virtual) => {
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
              {row.kind === "session" && <SessionRow entry={row} onStar={onStar} />}
              {row.kind === "repeats" && <RepeatsRowView row={row} onToggle={() => onToggle?.(row.key)} />}
              {row.kind === "group" && <GroupHeading row={row} onToggle={() => onToggle?.(groupKey(row.group, row.name))} />}
            </div>
          );
        })}
      </div>
    </>
  );
}

const sessionsOf = (row: ListRow | undefined): LibraryRow[] => (!row ? [] : row.kind === "session" ? [row.session] : row.kind === "repeats" ? row.sessions : []);

/** Why the costs of a list are lower bounds. */
function lowerBound(rows: ListRow[]): string {
  const figures = sumFigures(rows.flatMap((row) => (row.kind === "group" && !row.folded ? [] : sessionsOf(row).concat(row.kind === "group" ? row.sessions : []))).flatMap((row) => row.figures ?? []));
  return figures ? caveats(figures).join("\n") : "";
}

/** The group of the first row on the screen; null if its own heading is there, too, or there are none. */
function headingAt(rows: ListRow[], first: number): GroupRow | null {
  for (let at = first; at >= 0; at -= 1) {
    const row = rows[at];
    if (row?.kind === "group") return at === first ? null : row;
  }
  return null;
}

/** Have the sessions on the screen counted first, from the top down. */
function useCountFirst(sessions: LibraryRow[]): void {
  const source = useSource();
  const uncounted = sessions.filter((row) => row.turns === null && !row.prompts_only).map(({ key }) => key);
  const keys = uncounted.join();
  useEffect(() => {
    if (!keys) return;
    const timer = setTimeout(() => void source.countFirst(keys.split(",").slice(0, 100)).catch(() => undefined), STILL); // they are counted anyway, later
    return () => clearTimeout(timer);
  }, [keys]);
}
