/** Lines of code or output: a few at first, all when asked, windowed in a box where all is very long. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef, type ReactNode } from "react";
import { useReading } from "../contexts";
import { usePicked } from "./store";
import { exact } from "./words";

const FIRST = 32;
/** A few lines more than the first are not worth a button. */
const SLACK = 8;
const WINDOWED = 600;
const LINE_HEIGHT = 20;

interface Props {
  count: number;
  /** How many there are, where not all were sent. */
  total?: number | undefined;
  line(index: number): ReactNode;
  place: string;
  className: string;
  label: string;
  whole?(): void;
}

export function Lines({ count, total = count, line, place, className, label, whole }: Props) {
  const { opened } = useReading();
  const key = `lines:${place}`;
  const all = usePicked(opened, () => opened.isOpen(key));
  const shown = all || total <= FIRST + SLACK ? count : Math.min(count, FIRST);
  const more = shown < total;
  const toggle = () => {
    if (!all && total > count) whole?.();
    opened.toggle(key);
  };
  return (
    <div className={`lines ${className}`}>
      {shown > WINDOWED ? (
        <WindowedLines count={shown} line={line} label={label} />
      ) : (
        <div className="scrolls" tabIndex={0} role="region" aria-label={label}>
          <div className="lines-in">{Array.from({ length: shown }, (_, index) => line(index))}</div>
        </div>
      )}
      {(more || all) && (
        <button type="button" className="more" onClick={toggle}>
          {all && !more ? "fewer lines" : all ? "fetching…" : `all ${exact(total)} lines`}
        </button>
      )}
    </div>
  );
}

function WindowedLines({ count, line, label }: Pick<Props, "count" | "line" | "label">) {
  const box = useRef<HTMLDivElement>(null);
  const list = useVirtualizer({
    count,
    getScrollElement: () => box.current,
    estimateSize: () => LINE_HEIGHT,
    overscan: 20,
  });
  const items = list.getVirtualItems();
  return (
    <div className="scrolls windowed" ref={box} tabIndex={0} role="region" aria-label={label}>
      <div className="lines-in" style={{ height: list.getTotalSize() }}>
        <div style={{ transform: `translateY(${items[0]?.start ?? 0}px)` }}>{items.map((item) => line(item.index))}</div>
      </div>
    </div>
  );
}
