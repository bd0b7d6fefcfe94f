/** A list of sessions of any length: only the rows near the screen are rendered. */

import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useLayoutEffect, useRef, useState } from "react";
import type { LibraryRow } from "../data/values";
import { contentTop } from "../kit/barHeight";
import { repeatKey, type ListRow, type ProjectGroup } from "./groupSessions";
import { ProjectRow, SessionRow } from "./SessionRow";

/** The height of a row that is not measured yet; on a phone it has two lines. */
const rowHeight = () => (matchMedia("(max-width: 640px)").matches ? 65 : 37);

interface Props {
  rows: ListRow[];
  /** Called with the key of repeats that are to be shown one by one. */
  onUnfold?(key: string): void;
  onStar?(session: LibraryRow): void;
}

export function SessionList({ rows, onUnfold, onStar }: Props) {
  const container = useRef<HTMLDivElement>(null);
  const [margin, setMargin] = useState(0);
  useLayoutEffect(() => setMargin(container.current?.offsetTop ?? 0));
  const list = useWindowVirtualizer({
    count: rows.length,
    estimateSize: rowHeight,
    overscan: 12,
    scrollMargin: margin,
    initialOffset: () => scrollY,
  });
  const heading = headingAt(rows, list.getVirtualItemForOffset((list.scrollOffset ?? 0) + contentTop())?.index ?? 0);
  return (
    <div className="library-rows" ref={container} style={{ height: list.getTotalSize() }}>
      {heading && (
        <div className="sticky-heading" aria-hidden="true">
          <ProjectRow group={heading} />
        </div>
      )}
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
            {"session" in row ? (
              <SessionRow entry={row} onUnfold={() => onUnfold?.(repeatKey(row.session))} onStar={onStar} />
            ) : (
              <ProjectRow group={row} />
            )}
          </div>
        );
      })}
    </div>
  );
}

/** The project of the first row on the screen; null if its own heading is there, too, or there are none. */
function headingAt(rows: ListRow[], first: number): ProjectGroup | null {
  for (let at = first - 1; at >= 0; at -= 1) {
    const row = rows[at];
    if (row && !("session" in row)) return row;
    if (row && "session" in row && row.showProject) return null;
  }
  return null;
}
