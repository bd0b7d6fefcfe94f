/** When it was used: the days of the week by the hours of the day. */

import { useState } from "react";
import { settings } from "../kit/settings";
import { useSelector } from "../kit/store";
import type { ReportRow } from "../data/source";
import type { ValueFormat } from "./ColumnChart";
import { HOURS } from "./columns";
import { measureOf, type Measure } from "./usageChart";

const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const FROM_SUNDAY = ["Sun", ...WEEKDAYS.slice(0, 6)];
/** The number of shades besides none. */
const SHADES = 5;
const CELL = 20;
const LEFT = 36;
const TOP = 18;

interface Props {
  rows: ReportRow[];
  measure: Measure;
  format: ValueFormat;
}

export function Heatmap({ rows, measure, format }: Props) {
  const [pointed, setPointed] = useState<string | null>(null);
  const weekdays = useSelector(settings, ({ weekStart }) => weekStart) === "Sunday" ? FROM_SUNDAY : WEEKDAYS;
  const values = new Map(rows.map((row) => [`${row.weekday} ${row.hour}`, measureOf(row, measure)]));
  const shade = shades([...values.values()]);
  const text = (cell: string) => `${cell}: ${format.exact(values.get(cell) ?? 0)}`;
  const busiest = [...values.keys()].reduce<string | null>((most, cell) => ((values.get(cell) ?? 0) > (values.get(most ?? "") ?? 0) ? cell : most), null);
  return (
    <figure className="heatmap">
      <svg viewBox={`0 0 ${LEFT + 24 * CELL} ${TOP + 7 * CELL}`} role="img" aria-label="Usage by day of the week and hour of the day" onPointerLeave={() => setPointed(null)}>
        {HOURS.map((hour, at) =>
          at % 3 ? null : (
            <text key={hour} x={LEFT + at * CELL} y={TOP - 6}>
              {hour.slice(0, 2)}
            </text>
          ),
        )}
        {weekdays.map((weekday, row) => (
          <g key={weekday}>
            <text x={0} y={TOP + row * CELL + 14}>
              {weekday}
            </text>
            {HOURS.map((hour, at) => {
              const cell = `${weekday} ${hour}`;
              return (
                <rect
                  key={hour}
                  className={`shade-${shade(values.get(cell) ?? 0)}`}
                  x={LEFT + at * CELL}
                  y={TOP + row * CELL}
                  width={CELL - 2}
                  height={CELL - 2}
                  rx={2}
                  onPointerEnter={() => setPointed(cell)}
                >
                  <title>{text(cell)}</title>
                </rect>
              );
            })}
          </g>
        ))}
      </svg>
      <figcaption className="muted num">{pointed ? text(pointed) : busiest ? `Most: ${text(busiest)}` : "No activity"}</figcaption>
    </figure>
  );
}

/** A shade for each value: a fifth of the values that are not zero has each. */
export function shades(values: number[]): (value: number) => number {
  const sorted = values.filter((value) => value > 0).sort((a, b) => a - b);
  return (value) => {
    if (value <= 0) return 0;
    const below = sorted.findIndex((other) => other >= value);
    return 1 + Math.min(SHADES - 1, Math.floor(((below < 0 ? sorted.length : below) * SHADES) / sorted.length));
  };
}
