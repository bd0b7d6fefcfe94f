/** The session over time: turns, waiting, the model, tools and agents, each bar where and as long as it was at work. */

import { useEffect, useLayoutEffect, useMemo, useRef, useState, type KeyboardEvent, type PointerEvent } from "react";
import { useThreadStore } from "../contexts";
import { ChipGroup } from "../kit/ChipGroup";
import { duration, inProject, model, plural } from "../kit/format";
import { useKeptScroll } from "../kit/keepScroll";
import { useKept } from "../kit/kept";
import { visible } from "../kit/PlainText";
import { useVersion } from "../kit/store";
import { toError } from "../kit/toError";
import { useAsync } from "../kit/useAsync";
import { sessionHref } from "../route";
import type { ThreadStore } from "../data/threadStore";
import type { CallPart, Waterfall } from "../data/values";
import { AXIS, colourOf, drawWaterfall, exactClock, rowHeight, type View } from "./drawWaterfall";
import { turnTitle } from "./turnTitle";
import { Scale, layOut, nearest, type Bar, type Row } from "./waterfallLayout";

/** It is loaded again after this many new items. */
const RELOAD_STEP = 20;
/** The titles of this many turns are loaded at once, those of others when they are pointed at. */
const TITLED = 400;
/** The shortest time that fills the width, in milliseconds. */
const SHORTEST = 200;
const ZOOM = 1.6;
/** Pixels from a bar at which it is still hit, and that the pointer may move in a click. */
const NEAR = 6;
/** How long the pointer rests on a bar before its title is loaded, in milliseconds. */
const REST = 120;
const WAITS = ["Short waits", "True length"] as const;

const isTouch = (): boolean => matchMedia("(pointer: coarse)").matches;

export function WaterfallView() {
  useKeptScroll();
  const store = useThreadStore();
  useVersion(store);
  const { source, thread } = store;
  const loaded = useAsync("waterfall", () => source.waterfall(thread), Math.floor(store.total / RELOAD_STEP));
  if (loaded.state === "failed") return <p className="note error">{loaded.error.message}</p>;
  if (loaded.state === "loading") return <p className="muted loading">Loading…</p>;
  if (!loaded.value.turns.length) return <p className="note">Nothing in this session says when it happened.</p>;
  return <Chart value={loaded.value} />;
}

function Chart({ value }: { value: Waterfall }) {
  const store = useThreadStore();
  const layout = useMemo(() => layOut(value), [value]);
  const { rows } = layout;
  const [waits, setWaits] = useKept<(typeof WAITS)[number]>("waits", WAITS[0]);
  const scale = useMemo(() => new Scale(rows, waits === WAITS[0]), [rows, waits]);
  const whole = useMemo<View>(() => ({ from: 0, to: scale.length }), [scale]);
  const [view, setView] = useKept("part of the timeline", whole);
  const [[row, at], keepChosen] = useKept("bar", [-1, -1]);
  const [current, setCurrent] = useState<Bar | null>(rows[row]?.bars[at] ?? null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const version = useRedraw(canvas);
  const titles = useVersion(store);
  useLayoutEffect(() => {
    const title = (turn: number) => turnTitle(store, turn);
    if (canvas.current) drawWaterfall(canvas.current, rows, scale, view, current, title);
  }, [rows, scale, view, current, version, titles]);
  useEffect(() => store.requestTurns(0, TITLED), [store]);

  const show = (from: number, length: number) => {
    const kept = Math.min(scale.length, Math.max(SHORTEST, length));
    const start = Math.max(0, Math.min(from, scale.length - kept));
    setView({ from: start, to: start + kept });
  };
  const zoom = (factor: number, centre = current ? scale.at((current.start + current.end) / 2) : (view.from + view.to) / 2) => {
    const length = (view.to - view.from) / factor;
    show(centre - ((centre - view.from) / (view.to - view.from)) * length, length);
  };
  const step = (direction: number) => {
    if (!current) return choose(rows[0]?.bars[0]);
    const bars = rows[current.row]?.bars ?? [];
    choose(bars[bars.indexOf(current) + direction]);
  };
  const changeRow = (direction: number) => {
    if (!current) return choose(rows[0]?.bars[0]);
    const row = rows[current.row + direction];
    if (row) choose(nearest(row, current.start));
  };
  const choose = (bar: Bar | undefined) => {
    if (!bar) return;
    setCurrent(bar);
    keepChosen([bar.row, rows[bar.row]?.bars.indexOf(bar) ?? -1]);
    const [start, end] = [scale.at(bar.start), scale.at(bar.end)];
    if (end < view.from || start > view.to) show((start + end) / 2 - (view.to - view.from) / 2, view.to - view.from);
  };
  const open = (bar: Bar | null) => {
    if (bar) goTo(store, bar).catch((error: unknown) => store.showNotice(toError(error).message));
  };
  const keys: Record<string, () => void> = {
    ArrowLeft: () => step(-1),
    ArrowRight: () => step(1),
    ArrowUp: () => changeRow(-1),
    ArrowDown: () => changeRow(1),
    Home: () => choose(rows[current?.row ?? 0]?.bars[0]),
    End: () => choose(rows[current?.row ?? 0]?.bars.at(-1)),
    Enter: () => open(current),
    "+": () => zoom(ZOOM),
    "=": () => zoom(ZOOM),
    "-": () => zoom(1 / ZOOM),
    "0": () => setView(whole),
  };
  const pressed = (event: KeyboardEvent) => {
    const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  };
  const pointer = usePointer(canvas, rows, scale, view, { show, zoom, point: setCurrent, open });
  const isWhole = view.from === 0 && view.to >= scale.length;
  return (
    <section className="waterfall" aria-label="Timeline">
      <div className="waterfall-head">
        <ChipGroup
          label="Waiting"
          options={WAITS}
          value={waits}
          onChoose={(chosen) => {
            const next = new Scale(rows, chosen === WAITS[0]);
            setWaits(chosen);
            setView({ from: next.at(scale.time(view.from)), to: isWhole ? next.length : next.at(scale.time(view.to)) });
          }}
        />
        <span role="group" aria-label="Zoom">
          <button type="button" className="chip" aria-label="Zoom out" disabled={isWhole} onClick={() => zoom(1 / ZOOM)}>
            −
          </button>
          <button type="button" className="chip" aria-label="Zoom in" onClick={() => zoom(ZOOM)}>
            +
          </button>
          <button type="button" className="chip" disabled={isWhole} onClick={() => setView(whole)}>
            Whole session
          </button>
        </span>
        <Legend layout={layout} />
      </div>
      <Described bar={current} />
      <div className="waterfall-rows">
        <div className="waterfall-labels" aria-hidden="true" style={{ paddingTop: AXIS }}>
          {rows.map(({ label }, at) => (
            <span key={at} style={{ height: rowHeight(rows), lineHeight: `${rowHeight(rows)}px` }}>
              {label}
            </span>
          ))}
        </div>
        <canvas
          ref={canvas}
          style={{ height: AXIS + rows.length * rowHeight(rows) }}
          tabIndex={0}
          role="application"
          aria-label="Bars over time. Arrow keys go from bar to bar, Enter goes to the message, plus and minus zoom, 0 shows the whole session."
          aria-describedby="waterfall-bar"
          onKeyDown={pressed}
          {...pointer}
        />
      </div>
      <p className="label">
        {isTouch()
          ? "Drag to move, + and − to zoom, tap a bar to go to its message."
          : "Scroll sideways or drag to move, Ctrl and scroll to zoom, click a bar to go to its message."}
      </p>
    </section>
  );
}

/** What the bar under the pointer, or the one that keys chose, stands for. */
function Described({ bar }: { bar: Bar | null }) {
  const store = useThreadStore();
  useEffect(() => {
    if (!bar) return;
    const timer = setTimeout(() => {
      void store.load(bar.item);
      store.requestTurns(bar.turn - 1, bar.turn - 1);
    }, REST);
    return () => clearTimeout(timer);
  }, [store, bar]);
  return (
    <p id="waterfall-bar" className="waterfall-bar" role="status">
      {bar ? visible(description(store, bar)) : <span className="muted">{isTouch() ? "" : "Point at a bar to see what it was."}</span>}
    </p>
  );
}

function description(store: ThreadStore, bar: Bar): string {
  const took = duration((bar.end - bar.start) / 1000);
  const when = `${exactClock(bar.start)} · ${took}`;
  if (bar.kind === "turn") return `Turn ${bar.turn} · ${when} · ${turnTitle(store, bar.turn)}`;
  if (bar.kind === "wait") return `Waiting for you · ${when} · after turn ${bar.turn}`;
  if (bar.kind === "idle") return `Nothing at work · ${when} · turn ${bar.turn}`;
  const call = callOf(store, bar);
  const name = bar.kind === "model" ? `Model · ${model(bar.name)}` : bar.kind === "agent" ? `Agent · ${bar.name}` : bar.name;
  const title = call && bar.kind !== "agent" ? inProject(call.title, store.overview.project) : "";
  const state = bar.state && bar.state !== "done" ? bar.state : "";
  return [name, title, when, state, `turn ${bar.turn}`].filter(Boolean).join(" · ");
}

const callOf = (store: ThreadStore, { item, call }: Bar): CallPart | undefined =>
  store.item(item)?.parts.find((part): part is CallPart => part.part === "call" && part.index === call);

/** Leave the timeline for the message or call behind a bar. */
async function goTo(store: ThreadStore, bar: Bar): Promise<void> {
  const item = await store.load(bar.item);
  if (!item) return;
  const call = callOf(store, bar);
  location.hash = sessionHref(store.thread, call ? { call: call.id } : { message: item.key });
}

function Legend({ layout }: { layout: ReturnType<typeof layOut> }) {
  const entries: [kind: Bar["kind"], state: string, text: string | null][] = [
    ["model", "", layout.model ? `Model ${duration(layout.model)}` : null],
    ["tool", "", layout.tools ? `Tools ${duration(layout.tools)}` : null],
    ["agent", "", layout.agents ? plural(layout.agents, "agent") : null],
    ["tool", "failed", layout.failed ? `${layout.failed} failed` : null],
  ];
  return (
    <p className="waterfall-legend">
      {entries.map(
        ([kind, state, text]) =>
          text && (
            <span key={kind + state}>
              <i aria-hidden="true" style={{ background: `var(${colourOf({ kind, state })})` }} />
              {text}
            </span>
          ),
      )}
      {layout.waiting > 0 && <span>Waiting for you {duration(layout.waiting)}</span>}
      {layout.idle > 0 && <span>Nothing at work {duration(layout.idle)}</span>}
    </p>
  );
}

/** A number that changes whenever the canvas must be drawn again: its size, or the theme. */
function useRedraw(canvas: React.RefObject<HTMLCanvasElement | null>): number {
  const [version, setVersion] = useState(0);
  useEffect(() => {
    const redraw = () => setVersion((now) => now + 1);
    const sizes = new ResizeObserver(redraw);
    if (canvas.current) sizes.observe(canvas.current);
    const theme = new MutationObserver(redraw);
    theme.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    const system = matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", redraw);
    return () => {
      sizes.disconnect();
      theme.disconnect();
      system.removeEventListener("change", redraw);
    };
  }, [canvas]);
  return version;
}

interface PointerActions {
  show(from: number, length: number): void;
  zoom(factor: number, centre: number): void;
  point(bar: Bar | null): void;
  open(bar: Bar | null): void;
}

/** Drag and scroll sideways to move, Ctrl and scroll to zoom, click to open. */
function usePointer(
  canvas: React.RefObject<HTMLCanvasElement | null>,
  rows: Row[],
  scale: Scale,
  view: View,
  { show, zoom, point, open }: PointerActions,
) {
  const dragged = useRef<{ x: number; from: number; moved: boolean } | null>(null);
  const length = view.to - view.from;
  const perPixel = () => length / Math.max(1, canvas.current?.clientWidth ?? 1);
  const placeAt = (x: number) => view.from + (x - (canvas.current?.getBoundingClientRect().left ?? 0)) * perPixel();
  const barAt = (x: number, y: number): Bar | null => {
    const row = rows[Math.floor((y - (canvas.current?.getBoundingClientRect().top ?? 0) - AXIS) / rowHeight(rows))];
    const place = placeAt(x);
    const bar = row && nearest(row, scale.time(place));
    if (!bar) return null;
    const near = NEAR * perPixel();
    return place >= scale.at(bar.start) - near && place <= scale.at(bar.end) + near ? bar : null;
  };
  const wheel = (event: WheelEvent) => {
    if (event.ctrlKey || event.metaKey) zoom(Math.exp(-event.deltaY / 200), placeAt(event.clientX));
    else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      show(view.from + (event.deltaX || event.deltaY) * perPixel(), length);
    } else return;
    event.preventDefault();
  };
  useEffect(() => {
    // React listens passively, which cannot keep the page from zooming.
    const element = canvas.current;
    element?.addEventListener("wheel", wheel, { passive: false });
    return () => element?.removeEventListener("wheel", wheel);
  });
  return {
    onPointerDown: (event: PointerEvent) => {
      dragged.current = { x: event.clientX, from: view.from, moved: false };
      event.currentTarget.setPointerCapture(event.pointerId);
    },
    onPointerMove: (event: PointerEvent) => {
      const drag = dragged.current;
      if (!drag) return point(barAt(event.clientX, event.clientY));
      drag.moved ||= Math.abs(event.clientX - drag.x) > NEAR;
      if (drag.moved) show(drag.from - (event.clientX - drag.x) * perPixel(), length);
    },
    onPointerUp: (event: PointerEvent) => {
      const moved = dragged.current?.moved ?? true;
      dragged.current = null;
      if (!moved) open(barAt(event.clientX, event.clientY));
    },
    onPointerCancel: () => (dragged.current = null),
  };
}
