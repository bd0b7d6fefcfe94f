/** A year of days, one narrow bar each: the more sessions, the darker. A click or a drag filters. */

import { useRef, useState, type PointerEvent } from "react";
import { month } from "../kit/format";
import { useWidth } from "../kit/useWidth";
import { lastDays, periodsBetween } from "./columns";
import { shades } from "./Heatmap";
import { dayTitle, daysName } from "./libraryFilters";

const YEAR = 365;
/** The narrowest bar, in pixels. */
const NARROWEST = 2.4;
const HEIGHT = 18;
const LABELS = 14;

interface Props {
  /** How many sessions were at work on each day. */
  counts: Map<string, number>;
  from: string | undefined;
  to: string | undefined;
  onChoose(days: { from?: string; to?: string }): void;
}

const inOrder = (one: string, other: string): [string, string] => (one < other ? [one, other] : [other, one]);

export function YearStrip({ counts, from, to, onChoose }: Props) {
  const figure = useRef<HTMLElement>(null);
  const width = useWidth(figure);
  const [pointed, setPointed] = useState<string | null>(null);
  const [dragged, setDragged] = useState<[string, string] | null>(null);
  /** The day of the press, for events that come before it is drawn; a day, because the bars move when the strip changes its width. */
  const pressed = useRef<string | null>(null);
  const [first, last] = lastDays(Math.max(30, Math.min(YEAR, Math.floor(width / NARROWEST))));
  const days = periodsBetween(first ?? last, last, "day");
  const shade = shades([...counts.values()]);
  const slot = width / days.length;
  const at = (event: PointerEvent) => {
    const index = Math.floor((event.clientX - (figure.current?.getBoundingClientRect().left ?? 0)) / slot);
    return days[Math.max(0, Math.min(days.length - 1, index))] ?? last;
  };
  const [begin, end] = dragged ?? [from, to];
  const isLeftOut = (day: string) => (begin !== undefined && day < begin) || (end !== undefined && day > end);
  const label = dragged && begin !== end ? daysName(begin, end) : pointed === null ? "" : dayTitle(pointed, counts.get(pointed) ?? 0);
  return (
    <figure
      className="year"
      ref={figure}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        pressed.current = at(event);
        setDragged([at(event), at(event)]);
      }}
      onPointerMove={(event) => {
        setPointed(at(event));
        if (pressed.current !== null) setDragged(inOrder(pressed.current, at(event)));
      }}
      onPointerUp={(event) => {
        if (pressed.current === null) return;
        const [begin, end] = inOrder(pressed.current, at(event));
        pressed.current = null;
        setDragged(null);
        onChoose(begin === from && end === to ? {} : { from: begin, to: end });
      }}
      onPointerCancel={() => {
        pressed.current = null;
        setDragged(null);
      }}
      onPointerLeave={() => setPointed(null)}
    >
      <svg width={width} height={HEIGHT + LABELS} role="img" aria-label="Sessions on each day of the last year; the filter “when” chooses days, too">
        {days.map((day, index) => (
          <g key={day}>
            <rect
              className={`shade-${shade(counts.get(day) ?? 0)}${isLeftOut(day) ? " left-out" : ""}`}
              x={index * slot}
              width={Math.max(1, slot - 0.6)}
              height={HEIGHT}
            />
            {day.endsWith("-01") && index * slot < width - 28 && (
              <text x={index * slot} y={HEIGHT + LABELS - 2}>
                {month(`${day}T12:00`).slice(0, day.includes("-01-01") ? undefined : 3)}
              </text>
            )}
          </g>
        ))}
      </svg>
      <figcaption className="num">{label}</figcaption>
    </figure>
  );
}
