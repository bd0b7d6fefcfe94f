/** Stacked columns over time; the legend shows the exact figures of the column under the pointer. */

import { useRef, useState } from "react";
import { day, month } from "../kit/format";
import { PlainText } from "../kit/PlainText";
import { useWidth } from "../kit/useWidth";
import { axisTicks, type Chart, type Column } from "./columns";

const HEIGHT = 240;
const BOTTOM = 24;
const LEFT = 64;
const RIGHT = 20;
const WIDEST = 40;

/** How the values of a chart are written. */
export interface ValueFormat {
  short(value: number): string;
  exact(value: number): string;
  /** The ticks of the axis; round numbers if it does not say. */
  ticks?(highest: number): number[];
  /** A tick of an axis of such steps; short if it does not say. */
  tick?(value: number, step: number): string;
}

interface Props {
  chart: Chart;
  label: string;
  format: ValueFormat;
  /** A value to draw a line at. */
  line?: number | null;
  /** Called with the period of the column that was clicked. */
  onChoose?: ((period: string) => void) | undefined;
}

export function ColumnChart({ chart, label, format, line = null, onChoose }: Props) {
  const container = useRef<HTMLElement>(null);
  const width = useWidth(container);
  const [pointed, setPointed] = useState<number | null>(null);
  const ticks = (format.ticks ?? axisTicks)(chart.columns.reduce((most, column) => Math.max(most, total(column)), line ?? 0));
  const step = ticks[1] ?? 1;
  const top = ticks.at(-1) ?? 1;
  const slot = (width - LEFT - RIGHT) / Math.max(1, chart.columns.length);
  const y = (value: number) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - BOTTOM - 8);
  const labelEvery = Math.ceil(56 / slot);
  const colour = (series: number) => chart.colours?.[series] ?? `series-${series}`;
  const shown = pointed === null ? null : chart.columns[pointed];
  return (
    <figure className="chart" ref={container}>
      <svg width={width} height={HEIGHT} role="img" aria-label={`${label} over time. The table below has the figures.`}>
        {ticks.map((tick) => (
          <g key={tick} className="grid">
            <line x1={LEFT} x2={width} y1={y(tick)} y2={y(tick)} />
            <text x={LEFT - 8} y={y(tick) + 4} textAnchor="end">
              {format.tick?.(tick, step) ?? format.short(tick)}
            </text>
          </g>
        ))}
        {chart.columns.map((column, at) => {
          const columnWidth = Math.min(WIDEST, slot * 0.75);
          const x = LEFT + at * slot + (slot - columnWidth) / 2;
          let below = 0;
          return (
            <g
              key={column.period}
              className={onChoose && "choosable"}
              onPointerEnter={() => setPointed(at)}
              onPointerLeave={() => setPointed(null)}
              onClick={onChoose && (() => onChoose(column.period))}
            >
              <rect className="hover" x={LEFT + at * slot} y={0} width={slot} height={HEIGHT - BOTTOM} />
              {column.values.map((value, series) => {
                const from = y(below);
                below += value;
                return value > 0 && <rect key={series} className={colour(series)} x={x} y={y(below)} width={columnWidth} height={from - y(below)} />;
              })}
              {at % labelEvery === 0 && (
                <text className="tick" x={x + columnWidth / 2} y={HEIGHT - 6} textAnchor="middle">
                  {periodName(column.period)}
                </text>
              )}
            </g>
          );
        })}
        {line !== null && (
          <g className="budget-line">
            <line x1={LEFT} x2={width} y1={y(line)} y2={y(line)} />
            <text x={width} y={y(line) - 4} textAnchor="end">
              {format.exact(line)}
            </text>
          </g>
        )}
      </svg>
      <figcaption>
        <span className="legend-period num">
          {shown ? periodName(shown.period) : "Total"}
          <strong>{shown ? format.exact(total(shown)) : format.short(chart.totals.reduce((sum, value) => sum + value, 0))}</strong>
        </span>
        <ul className="legend">
          {chart.names.map((name, series) => (
            <li key={name}>
              <svg width="10" height="10" aria-hidden="true">
                <rect className={colour(series)} width="10" height="10" />
              </svg>
              <PlainText className="legend-name" title={name} text={name} />
              <span className="num muted">
                {shown ? format.exact(shown.values[series] ?? 0) : format.short(chart.totals[series] ?? 0)}
              </span>
            </li>
          ))}
        </ul>
      </figcaption>
    </figure>
  );
}

/** The sum of a column. */
export const total = (column: Column): number => column.values.reduce((sum, value) => sum + value, 0);

export const periodName = (period: string): string => {
  if (/^\d{4}-\d\d-\d\d$/.test(period)) return day(`${period}T12:00`);
  return /^\d{4}-\d\d$/.test(period) ? month(`${period}-01T12:00`) : period || "no date";
};
