/** Lines of code or output: the first few, or all of them, in a scrolling box if there are very many. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef, type ReactNode } from "react";
import { useExpanded } from "../contexts";
import { useSelector } from "./store";
import { exact } from "./format";
import { visible } from "./PlainText";

const FIRST = 32;
/** This many more lines are shown rather than a button. */
const SLACK = 8;
const VIRTUAL = 600;
const LINE_HEIGHT = 20;

interface Props {
  count: number;
  /** The number of lines, if not all of them are loaded. */
  total?: number | undefined;
  line(index: number): ReactNode;
  place: string;
  className: string;
  label: string;
  loadWhole?(): void;
}

export function Lines({ count, total = count, line, place, className, label, loadWhole }: Props) {
  const expanded = useExpanded();
  const key = `lines:${place}`;
  const all = useSelector(expanded, () => expanded.has(key));
  const shown = all || total <= FIRST + SLACK ? count : Math.min(count, FIRST);
  const more = shown < total;
  const toggle = () => {
    if (!all && total > count) loadWhole?.();
    expanded.toggle(key);
  };
  return (
    <div className={`lines ${className}`}>
      {shown > VIRTUAL ? (
        <VirtualLines count={shown} line={line} label={label} />
      ) : (
        <div className="scrolls" tabIndex={0} role="region" aria-label={visible(label)}>
          <div className="lines-content">{Array.from({ length: shown }, (_, index) => line(index))}</div>
        </div>
      )}
      {(more || all) && (
        <button type="button" className="show-more" onClick={toggle}>
          {all && !more ? "Show fewer lines" : all ? "Loading…" : `Show all ${exact(total)} lines`}
        </button>
      )}
    </div>
  );
}

function VirtualLines({ count, line, label }: Pick<Props, "count" | "line" | "label">) {
  const box = useRef<HTMLDivElement>(null);
  const list = useVirtualizer({
    count,
    getScrollElement: () => box.current,
    estimateSize: () => LINE_HEIGHT,
    overscan: 20,
  });
  const items = list.getVirtualItems();
  return (
    <div className="scrolls virtual" ref={box} tabIndex={0} role="region" aria-label={visible(label)}>
      <div className="lines-content" style={{ height: list.getTotalSize() }}>
        <div style={{ transform: `translateY(${items[0]?.start ?? 0}px)` }}>{items.map((item) => line(item.index))}</div>
      </div>
    </div>
  );
}
