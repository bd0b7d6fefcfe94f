/** Draws the bars of a session over time on a canvas. */

import { duration, model, timeOfDay, weekday } from "../kit/format";
import { visible } from "../kit/PlainText";
import { firstWhere, ticks, type Bar, type Row, type Scale, type Stretch } from "./waterfallLayout";

export const AXIS = 24;
/** Pixels between the bars of two rows. */
const SPACE = 4;
/** Bars narrower than this many pixels are drawn this wide. */
const NARROWEST = 2;
/** What adds less than this many pixels to the bars before it is not drawn. */
const VISIBLE = 0.5;
/** A text that does not fit is cut, or left out if fewer characters than this would be left. */
const LEAST = 6;
/** The length of a break is written above it if it is at least this many milliseconds. */
const LABELLED = 10 * 60_000;
/** Pixels between the marks of the axis at least. */
const TICK = 88;

/** The part of the scale that is on the screen. */
export interface View {
  from: number;
  to: number;
}

const COLOURS = {
  turn: "--border-light",
  wait: "--border-light",
  idle: "--border-light",
  person: "--series-4",
  model: "--series-0",
  tool: "--series-5",
  agent: "--series-3",
} satisfies Record<Bar["kind"], string>;
const STATES: Record<string, string> = { failed: "--error", denied: "--warning", interrupted: "--warning", running: "--warning" };

/** The height of a row: a few rows have more room. */
export const rowHeight = (rows: Row[]): number => (rows.length > 12 ? 20 : 28);

export const colourOf = (bar: Pick<Bar, "kind" | "state">): string => STATES[bar.state] ?? COLOURS[bar.kind];

export function drawWaterfall(
  canvas: HTMLCanvasElement,
  rows: Row[],
  scale: Scale,
  view: View,
  current: Bar | null,
  turnTitle: (turn: number) => string,
): void {
  const context = canvas.getContext("2d");
  const width = canvas.clientWidth;
  if (!context || !width) return;
  const rowSize = rowHeight(rows);
  const barSize = rowSize - SPACE;
  const height = AXIS + rows.length * rowSize;
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  context.scale(ratio, ratio);
  const styles = getComputedStyle(canvas);
  const colours = new Map<string, string>();
  const colour = (name: string): string => {
    const known = colours.get(name) ?? resolved(canvas, name);
    colours.set(name, known);
    return known;
  };
  const perPixel = (view.to - view.from) / width;
  const x = (time: number) => (scale.at(time) - view.from) / perPixel;
  context.font = `12px ${styles.fontFamily}`;
  context.textBaseline = "middle";

  drawAxis(context, { scale, view, width, height, x, perPixel, colour });
  const starts = scale.time(view.from);
  const ends = scale.time(view.to);
  rows.forEach(({ bars }, row) => {
    const top = AXIS + row * rowSize + SPACE / 2;
    let reached = -Infinity;
    for (let at = Math.max(0, firstWhere(bars, ({ start }) => start >= starts) - 1); at < bars.length; at += 1) {
      const bar = bars[at] as Bar;
      if (bar.start > ends) break;
      const left = Math.max(-1, x(bar.start));
      const right = Math.min(width + 1, Math.max(x(bar.end), left + NARROWEST));
      if (right < 0 || (right < reached + VISIBLE && !STATES[bar.state] && bar !== current)) continue;
      reached = Math.max(reached, right);
      const gap = (bar.kind === "turn" || isPause(bar)) && right - left > 4 ? 1 : 0;
      context.fillStyle = colour(colourOf(bar));
      context.fillRect(left, top, right - left - gap, barSize);
      // The length of a break stands above it.
      if (!isPause(bar) || !scale.shortens(bar.start)) {
        drawText(context, bar, { left: Math.max(0, left), right: Math.min(width, right), top, height: barSize, turnTitle, colour });
      }
      if (bar === current) {
        context.strokeStyle = colour("--text");
        context.lineWidth = 2;
        context.strokeRect(left - 1, top - 1, right - left + 2 - gap, barSize + 2);
      }
    }
  });
}

interface Drawing {
  scale: Scale;
  view: View;
  width: number;
  height: number;
  x(time: number): number;
  perPixel: number;
  colour(name: string): string;
}

/** Times of day, the days where they begin, and breaks where the time between is drawn short. */
function drawAxis(context: CanvasRenderingContext2D, { scale, view, width, height, x, perPixel, colour }: Drawing): void {
  let day = "";
  let free = 0;
  const first = Math.max(0, scale.stretches.findLastIndex(({ at }) => at <= view.from));
  for (let n = first; n < scale.stretches.length; n += 1) {
    const { start, end, at, length, shortened } = scale.stretches[n] as Stretch;
    if (at > view.to) break;
    const [left, right] = [x(start), x(end)];
    if (shortened) {
      const label = breakLabel(context, end - start, right - left);
      const place = (left + right - context.measureText(label).width) / 2;
      const isLabelled = label !== "" && place >= free;
      drawBreak(context, left, right, isLabelled ? 0 : AXIS, height, colour);
      if (!isLabelled) continue;
      context.fillStyle = colour("--muted");
      context.fillText(label, place, AXIS / 2);
      free = right;
      continue;
    }
    if (length <= 0) continue;
    const next = scale.stretches[n + 1];
    const limit = next && breakLabel(context, next.end - next.start, x(next.end) - right) ? Math.min(width, right) : width;
    const shown = [Math.max(start, scale.time(view.from)), Math.min(end, scale.time(view.to))] as const;
    const marks = ticks(shown[0], shown[1], TICK * perPixel);
    for (const time of marks.length ? marks : [shown[0]]) {
      const place = Math.max(0, x(time));
      const date = weekday(new Date(time).toISOString());
      const texts = date === day ? [clock(time, perPixel)] : [`${date} ${clock(time, perPixel)}`, date];
      const text = texts.find((one) => place >= free && place + 4 + context.measureText(one).width <= limit);
      if (!text) continue;
      context.fillStyle = colour("--border-light");
      context.fillRect(place, AXIS - 6, 1, height - AXIS + 6);
      context.fillStyle = colour("--muted");
      context.fillText(text, place + 4, AXIS / 2);
      free = place + context.measureText(text).width + 16;
      day = date;
    }
  }
}

/** How long a break is, if it is long and the text fits. */
function breakLabel(context: CanvasRenderingContext2D, length: number, room: number): string {
  const text = length < LABELLED ? "" : shortDuration(length);
  return context.measureText(text).width <= room ? text : "";
}

/** A duration in one unit, for where room is scarce. */
function shortDuration(length: number): string {
  const minutes = Math.round(length / 60_000);
  if (minutes < 90) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} d`;
}

/** A band with dashed edges over the height of all rows. */
function drawBreak(
  context: CanvasRenderingContext2D,
  left: number,
  right: number,
  top: number,
  bottom: number,
  colour: (name: string) => string,
): void {
  context.fillStyle = colour("--raised");
  context.fillRect(left, top, right - left, bottom - top);
  context.strokeStyle = colour("--border");
  context.setLineDash([3, 3]);
  context.beginPath();
  for (const edge of right - left < 6 ? [(left + right) / 2] : [left + 0.5, right - 0.5]) {
    context.moveTo(edge, top);
    context.lineTo(edge, bottom);
  }
  context.stroke();
  context.setLineDash([]);
}

const secondsFormat = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });

/** The time of day, with seconds if marks are less than a minute apart. */
const clock = (time: number, perPixel: number): string =>
  TICK * perPixel < 60_000 ? secondsFormat.format(time) : timeOfDay(new Date(time).toISOString());

export const exactClock = (time: number): string => secondsFormat.format(time);

interface Place {
  left: number;
  right: number;
  top: number;
  height: number;
  turnTitle(turn: number): string;
  colour(name: string): string;
}

function drawText(context: CanvasRenderingContext2D, bar: Bar, { left, right, top, height, turnTitle, colour }: Place): void {
  const room = right - left - 8;
  if (room < 8) return;
  const whole = visible(barText(bar, turnTitle)).slice(0, 200);
  const text = fitted(context, whole, room) || (bar.kind === "turn" ? fitted(context, bar.name, room) : "");
  if (!text) return;
  context.fillStyle = colour(bar.kind === "turn" || isPause(bar) ? "--muted" : "--background");
  context.fillText(text, left + 5, top + height / 2 + 1);
}

/** As much of a text as fits, with an ellipsis; nothing if that would be too little. */
function fitted(context: CanvasRenderingContext2D, text: string, room: number): string {
  if (context.measureText(text).width <= room) return text;
  let [fits, most] = [0, text.length];
  while (fits < most) {
    const middle = (fits + most + 1) >> 1;
    if (context.measureText(`${text.slice(0, middle)}…`).width <= room) fits = middle;
    else most = middle - 1;
  }
  return fits >= LEAST ? `${text.slice(0, fits).trimEnd()}…` : "";
}

const isPause = ({ kind }: Bar): boolean => kind === "wait" || kind === "idle";

function barText(bar: Bar, turnTitle: (turn: number) => string): string {
  const { kind, name, turn, start, end } = bar;
  if (isPause(bar)) return duration((end - start) / 1000);
  if (kind === "turn") return `${name}  ${turnTitle(turn)}`.trimEnd();
  return kind === "model" ? model(name) : name;
}

/** The value of a colour; `light-dark()` is resolved by the browser. */
function resolved(canvas: HTMLCanvasElement, name: string): string {
  canvas.style.color = `var(${name})`;
  const colour = getComputedStyle(canvas).color;
  canvas.style.color = "";
  return colour;
}
