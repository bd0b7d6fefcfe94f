/** Stacked columns over time, with the exact figures of the one that is pointed at. */

import { useLayoutEffect, useRef, useState } from "react";
import { day, exact, exactMoney, money, short } from "../kit/words";
import { scale, type Chart, type Column, type Measure } from "./series";

const HEIGHT = 240;
const BOTTOM = 24;
const LEFT = 56;
const WIDEST = 40;

const WORDS: Record<Measure, { short(value: number): string; exact(value: number): string }> = {
  cost: { short: money, exact: exactMoney },
  tokens: { short, exact: (value) => `${exact(value)} tokens` },
};

export function ColumnChart({ chart, measure }: { chart: Chart; measure: Measure }) {
  const box = useRef<HTMLElement>(null);
  const width = useWidth(box);
  const [pointed, setPointed] = useState<number | null>(null);
  const words = WORDS[measure];
  const steps = scale(Math.max(...chart.columns.map(sum)));
  const top = steps.at(-1) ?? 1;
  const slot = (width - LEFT) / Math.max(1, chart.columns.length);
  const y = (value: number) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - BOTTOM - 8);
  const every = Math.ceil(56 / slot);
  const shown = pointed === null ? null : chart.columns[pointed];
  return (
    <figure className="chart" ref={box}>
      <svg width={width} height={HEIGHT} role="img" aria-label={`${measure} over time; the table below has the figures`}>
        {steps.map((step) => (
          <g key={step} className="grid">
            <line x1={LEFT} x2={width} y1={y(step)} y2={y(step)} />
            <text x={LEFT - 8} y={y(step) + 4} textAnchor="end">
              {words.short(step)}
            </text>
          </g>
        ))}
        {chart.columns.map((column, at) => {
          const wide = Math.min(WIDEST, slot * 0.75);
          const x = LEFT + at * slot + (slot - wide) / 2;
          let below = 0;
          return (
            <g key={column.when} onPointerEnter={() => setPointed(at)} onPointerLeave={() => setPointed(null)}>
              <rect className="hover" x={LEFT + at * slot} y={0} width={slot} height={HEIGHT - BOTTOM} />
              {column.values.map((value, series) => {
                const from = y(below);
                below += value;
                return (
                  value > 0 && (
                    <rect key={series} className={`series-${series}`} x={x} y={y(below)} width={wide} height={from - y(below)}>
                      <title>{`${column.when} ${chart.names[series]}: ${words.exact(value)}`}</title>
                    </rect>
                  )
                );
              })}
              {at % every === 0 && (
                <text className="tick" x={x + wide / 2} y={HEIGHT - 6} textAnchor="middle">
                  {tick(column.when)}
                </text>
              )}
            </g>
          );
        })}
      </svg>
      <figcaption>
        <span className="legend-when num">{shown ? tick(shown.when) : "in all"}</span>
        <ul className="legend">
          {chart.names.map((name, series) => (
            <li key={name}>
              <svg width="10" height="10" aria-hidden="true">
                <rect className={`series-${series}`} width="10" height="10" />
              </svg>
              {name}{" "}
              <span className="num faint">
                {shown ? words.exact(shown.values[series] ?? 0) : words.short(chart.totals[series] ?? 0)}
              </span>
            </li>
          ))}
        </ul>
      </figcaption>
    </figure>
  );
}

const sum = (column: Column): number => column.values.reduce((total, value) => total + value, 0);

const tick = (when: string): string => (/^\d{4}-\d\d-\d\d$/.test(when) ? day(`${when}T12:00`) : when);

function useWidth(box: React.RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(720);
  useLayoutEffect(() => {
    if (!box.current) return;
    setWidth(box.current.clientWidth);
    const observer = new ResizeObserver(([entry]) => entry && setWidth(Math.floor(entry.contentRect.width)));
    observer.observe(box.current);
    return () => observer.disconnect();
  }, [box]);
  return width;
}
