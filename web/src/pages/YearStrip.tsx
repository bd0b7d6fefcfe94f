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

export function YearStrip({ counts, from, to, onChoose }: Props) {
  const figure = useRef<HTMLElement>(null);
  const width = useWidth(figure);
  const [pointed, setPointed] = useState<number | null>(null);
  const [dragged, setDragged] = useState<[number, number] | null>(null);
  const [first, last] = lastDays(Math.max(30, Math.min(YEAR, Math.floor(width / NARROWEST))));
  const days = periodsBetween(first ?? last, last, "day");
  const shade = shades([...counts.values()]);
  const slot = width / days.length;
  const at = (event: PointerEvent) => Math.max(0, Math.min(days.length - 1, Math.floor((event.clientX - (figure.current?.getBoundingClientRect().left ?? 0)) / slot)));
  const [begin, end] = dragged ? [Math.min(...dragged), Math.max(...dragged)] : [-1, -1];
  const isLeftOut = (day: string, index: number) => (dragged ? index < begin || index > end : (from !== undefined && day < from) || (to !== undefined && day > to));
  const label = dragged && begin !== end ? daysName(days[begin], days[end]) : pointed === null ? "" : dayTitle(days[pointed] ?? "", counts.get(days[pointed] ?? "") ?? 0);
  return (
    <figure
      className="year"
      ref={figure}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        setDragged([at(event), at(event)]);
      }}
      onPointerMove={(event) => {
        setPointed(at(event));
        if (dragged) setDragged([dragged[0], at(event)]);
      }}
      onPointerUp={(event) => {
        setDragged(null);
        if (!dragged) return;
        const ends = [dragged[0], at(event)]; // the last move may not have been drawn yet
        const chosen = { from: days[Math.min(...ends)] ?? "", to: days[Math.max(...ends)] ?? "" };
        onChoose(chosen.from === from && chosen.to === to ? {} : chosen);
      }}
      onPointerCancel={() => setDragged(null)}
      onPointerLeave={() => setPointed(null)}
    >
      <svg width={width} height={HEIGHT + LABELS} role="img" aria-label="Sessions on each day of the last year; the filter “when” chooses days, too">
        {days.map((day, index) => (
          <g key={day}>
            <rect
              className={`shade-${shade(counts.get(day) ?? 0)}${isLeftOut(day, index) ? " left-out" : ""}`}
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
