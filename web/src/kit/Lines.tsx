/** Lines of code or output: the first few, or all of them, in a scrolling box if there are very many. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, type ReactNode } from "react";
import { useExpanded } from "../contexts";
import { useSelector } from "./store";
import { CopyTextButton } from "./CopyTextButton";
import { exact } from "./format";
import { visible } from "./PlainText";

const FIRST = 32;
/** This many more lines are shown rather than a button. */
const SLACK = 8;
/** Of these, so many are the last ones, if the end is worth as much as the beginning. */
const LAST = 12;
const VIRTUAL = 600;
const LINE_HEIGHT = 20;
/** Sent to a box of very many lines, with a text: the box scrolls to the line that has it, once it is there. */
export const SEEK = "reread-seek";

interface Props {
  count: number;
  /** The number of lines, if not all of them are loaded. */
  total?: number | undefined;
  line(index: number): ReactNode;
  place: string;
  className: string;
  label: string;
  loadWhole?(): void;
  /** Whether the last lines are shown below the first ones; those of a text that is not loaded are in `rest`. */
  withEnd?: boolean;
  rest?: { count: number; line(index: number): ReactNode } | undefined;
  /** The text that is copied. */
  text?(): string;
}

export function Lines({ count, total = count, line, place, className, label, loadWhole, withEnd = false, rest, text }: Props) {
  const expanded = useExpanded();
  const key = `lines:${place}`;
  const all = useSelector(expanded, () => expanded.has(key));
  const folded = !all && total > FIRST + SLACK;
  const ending = folded && withEnd ? (rest ?? (total === count ? { count: LAST, line: (at: number) => line(count - LAST + at) } : null)) : null;
  const shown = folded ? Math.min(count, ending ? FIRST - LAST : FIRST) : count;
  const more = shown < total;
  const toggle = () => {
    if (!all && total > count) loadWhole?.();
    expanded.toggle(key);
  };
  return (
    <div className={`lines ${className}`}>
      {shown > VIRTUAL ? (
        <VirtualLines count={shown} line={line} label={label} text={text} />
      ) : (
        <Box count={shown} line={line} label={label} />
      )}
      {total > FIRST + SLACK && (more || all) && (
        <button type="button" className="show-more" onClick={toggle}>
          {all && !more ? "Show fewer lines" : all ? "Loading…" : ending ? `Show ${exact(total - shown - ending.count)} lines in between` : `Show all ${exact(total)} lines`}
        </button>
      )}
      {ending && <Box count={ending.count} line={ending.line} label={`end of the ${label}`} />}
      {text && <CopyTextButton text={text} partly={total > count} />}
    </div>
  );
}

function Box({ count, line, label }: Pick<Props, "count" | "line" | "label">) {
  return (
    <div className="scrolls" tabIndex={0} role="region" aria-label={visible(label)}>
      <div className="lines-content">{Array.from({ length: count }, (_, index) => line(index))}</div>
    </div>
  );
}

function VirtualLines({ count, line, label, text }: Pick<Props, "count" | "line" | "label" | "text">) {
  const box = useRef<HTMLDivElement>(null);
  const list = useVirtualizer({
    count,
    getScrollElement: () => box.current,
    estimateSize: () => LINE_HEIGHT,
    overscan: 20,
  });
  useEffect(() => {
    const seek = (event: Event) => {
      const sought = (event as CustomEvent<string>).detail;
      const at = text?.().split("\n").findIndex((one) => one.includes(sought)) ?? -1;
      if (at < 0 || !box.current) return; // the line may still come
      box.current.dataset.sought = sought;
      list.scrollToIndex(at, { align: "center" });
    };
    box.current?.addEventListener(SEEK, seek);
    return () => box.current?.removeEventListener(SEEK, seek);
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
