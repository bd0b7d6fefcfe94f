/** A list of sessions of any length: only the rows near the screen are rendered. */

import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useLayoutEffect, useRef, useState } from "react";
import { repeatKey, type ListRow } from "./groupSessions";
import { listState } from "./listState";
import { ProjectRow, SessionRow } from "./SessionRow";

/** The height of a row that is not measured yet; on a phone it has two lines. */
const rowHeight = () => (matchMedia("(max-width: 640px)").matches ? 65 : 37);

interface Props {
  rows: ListRow[];
  /** Called with the key of repeats that are to be shown one by one. */
  onUnfold?(key: string): void;
}

export function SessionList({ rows, onUnfold }: Props) {
  const container = useRef<HTMLDivElement>(null);
  const [margin, setMargin] = useState(0);
  useLayoutEffect(() => setMargin(container.current?.offsetTop ?? 0));
  const list = useWindowVirtualizer({
    count: rows.length,
    estimateSize: rowHeight,
    overscan: 12,
    scrollMargin: margin,
    initialOffset: () => listState().top,
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
            {"session" in row ? (
              <SessionRow entry={row} onUnfold={() => onUnfold?.(repeatKey(row.session))} />
            ) : (
              <ProjectRow group={row} />
            )}
          </div>
        );
      })}
    </div>
  );
}
