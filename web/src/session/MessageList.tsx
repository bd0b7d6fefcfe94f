/** The document, windowed: only what is near the screen is drawn, and only pages near it are kept. */

import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { useReading } from "../contexts";
import { topOfText } from "../kit/bar";
import { useVersion } from "../kit/store";
import { useWindowed, type Windowed } from "../kit/useWindowed";
import { plural } from "../kit/words";
import type { Jump, Reading } from "../reading";
import type { Filter } from "../source";
import { landing, remember, toTheEnd } from "./landing";
import { Message } from "./Message";

const ESTIMATE = 88;
const AHEAD = 20;
const NEAR_END = 64;
/** More than this is not printed at once. */
const PRINTED = 5000;

interface Props {
  /** The passages to show, where not all are. */
  rows: number[] | null;
  filter: Filter | null;
  /** How many passages a replay has come to. */
  until: number | null;
}

export function MessageList({ rows, filter, until }: Props) {
  const reading = useReading();
  useVersion(reading);
  const box = useRef<HTMLDivElement>(null);
  const printing = usePrinting(reading);
  const count = rows ? rows.length : Math.min(until ?? reading.total, reading.total);
  const indexAt = useCallback((row: number) => (rows ? (rows[row] ?? 0) : row), [rows]);
  const list = useWindowed(box, count, ESTIMATE, rows);
  const { heights, first, last } = list;

  useEffect(() => {
    if (count) reading.want(indexAt(first) - AHEAD, indexAt(last) + AHEAD);
  });
  usePosition(list, reading, indexAt);
  useJumps(list, reading, rows);
  const following = useFollowing(list, reading, until);

  if (printing) {
    return (
      <div className="message-list" ref={box}>
        {Array.from({ length: Math.min(count, PRINTED) }, (_, row) => {
          const passage = reading.passage(indexAt(row));
          return passage && <Message key={row} passage={passage} filter={filter} />;
        })}
      </div>
    );
  }
  return (
    <>
      <div className="message-list" ref={box} style={{ height: heights.total }}>
        <div style={{ transform: `translateY(${heights.top(first)}px)` }}>
          {Array.from({ length: last - first + 1 }, (_, at) => {
            const passage = reading.passage(indexAt(first + at));
            return (
              <div key={indexAt(first + at)} data-index={first + at} ref={list.row} className="row">
                {passage ? <Message passage={passage} filter={filter} /> : <div className="message waiting" />}
              </div>
            );
          })}
        </div>
      </div>
      <Newer following={following} />
    </>
  );
}

function Newer({ following }: { following: boolean }) {
  const reading = useReading();
  if (following || (!reading.fresh && !reading.overview.live)) return null;
  return (
    <button type="button" className="newer" onClick={toTheEnd}>
      {reading.fresh ? `${plural(reading.fresh, "new passage")} ↓` : "● live: follow ↓"}
    </button>
  );
}

/** Tell where one is, and keep it for a reload and for back and forward. */
function usePosition({ heights, margin }: Windowed, reading: Reading, indexAt: (row: number) => number): void {
  useEffect(() => {
    let timer = 0;
    const here = () => {
      const offset = scrollY - margin + topOfText();
      const row = heights.at(offset);
      return { index: indexAt(row), passage: reading.passage(indexAt(row)), offset: offset - heights.top(row) };
    };
    const keep = () => {
      const { index, passage, offset } = here();
      if (passage) remember({ index, key: passage.key, offset });
    };
    const moved = () => {
      const { index, passage } = here();
      reading.position.move(index, passage?.turn ?? null);
      clearTimeout(timer);
      timer = window.setTimeout(keep, 250);
    };
    addEventListener("scroll", moved, { passive: true });
    addEventListener("pagehide", keep);
    return () => {
      clearTimeout(timer);
      removeEventListener("scroll", moved);
      removeEventListener("pagehide", keep);
    };
  }, [heights, margin, reading, indexAt]);
}

/** Go where a link, a key or a hit leads: fetch it first, so that it is measured as it stands. */
function useJumps(list: Windowed, reading: Reading, rows: number[] | null): void {
  useVersion(reading.jumps);
  const jump = reading.jumps.last;
  const done = useRef<Jump | null>(null);
  const latest = useRef(list);
  latest.current = list;
  const land = useCallback(
    async (jump: Jump) => {
      const row = rows ? rows.findIndex((index) => index >= jump.index) : jump.index;
      await Promise.all([
        reading.load(jump.index),
        reading.load(Math.max(0, jump.index - AHEAD)),
        reading.load(Math.min(reading.total - 1, jump.index + AHEAD)),
      ]);
      if (reading.jumps.last === jump && row >= 0) await landing(latest.current, row, jump);
    },
    [reading, rows],
  );
  useEffect(() => {
    if (jump && done.current !== jump) {
      done.current = jump;
      void land(jump);
    }
  }, [jump, land]);
}

/** Stay at the end while it moves, unless one scrolls away. */
function useFollowing({ heights, margin }: Windowed, reading: Reading, until: number | null): boolean {
  const [following, setFollowing] = useState(false);
  const lastTop = useRef(0);
  const active = following && (reading.overview.live || until !== null);
  useEffect(() => {
    const scrolled = () => {
      const atEnd = innerHeight + scrollY >= margin + heights.total - NEAR_END;
      if (atEnd) setFollowing(true);
      else if (scrollY < lastTop.current - 1) setFollowing(false);
      lastTop.current = scrollY;
    };
    scrolled();
    addEventListener("scroll", scrolled, { passive: true });
    return () => removeEventListener("scroll", scrolled);
  }, [heights, margin]);
  useEffect(() => {
    if (until !== null) setFollowing(true);
  }, [until !== null]);
  const size = heights.total;
  useLayoutEffect(() => {
    if (active) toTheEnd();
  }, [active, size, reading.total, until]);
  useEffect(() => {
    if (following) reading.seen();
  });
  return following;
}

/** Draw everything for the printer: Ctrl-P waits until it is here. */
function usePrinting(reading: Reading): boolean {
  const [printing, setPrinting] = useState(false);
  useEffect(() => {
    const before = () => flushSync(() => setPrinting(true));
    const after = () => setPrinting(false);
    const pressed = (event: KeyboardEvent) => {
      if (event.key !== "p" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
      event.preventDefault();
      void loadAll(reading).then(() => print());
    };
    addEventListener("beforeprint", before);
    addEventListener("afterprint", after);
    addEventListener("keydown", pressed);
    return () => {
      removeEventListener("beforeprint", before);
      removeEventListener("afterprint", after);
      removeEventListener("keydown", pressed);
    };
  }, [reading]);
  return printing;
}

export async function loadAll(reading: Reading): Promise<void> {
  for (let index = 0; index < Math.min(reading.total, PRINTED); index += 50) await reading.load(index);
}
