/** The document, windowed: only what is near the screen is drawn, and only pages near it are kept. */

import { useWindowVirtualizer, type Virtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { useReading } from "../contexts";
import { useVersion } from "../kit/store";
import { plural } from "../kit/words";
import type { Jump, Reading } from "../reading";
import type { Sieve } from "../source";
import { followed, landing, remember } from "./landing";
import { Message } from "./Message";

const ESTIMATE = 88;
const AHEAD = 20;
const NEAR_END = 64;
/** More than this is not printed at once. */
const PRINTED = 5000;

interface Props {
  /** The passages to show, where not all are. */
  rows: number[] | null;
  sieve: Sieve | null;
  /** How many passages a replay has come to. */
  until: number | null;
}

type List = Virtualizer<Window, Element>;

export function MessageList({ rows, sieve, until }: Props) {
  const reading = useReading();
  useVersion(reading);
  const box = useRef<HTMLDivElement>(null);
  const [margin, setMargin] = useState(0);
  const printing = usePrinting(reading);
  const count = rows ? rows.length : Math.min(until ?? reading.total, reading.total);
  const indexAt = (row: number) => (rows ? (rows[row] ?? 0) : row);

  const list = useWindowVirtualizer({
    count,
    estimateSize: () => ESTIMATE,
    overscan: 4,
    scrollMargin: margin,
    scrollPaddingStart: topOfText(),
    getItemKey: indexAt,
  });
  // What opens below the top of the screen must not move it.
  list.shouldAdjustScrollPositionOnItemSizeChange = (item, _, self) => item.end <= (self.scrollOffset ?? 0) + topOfText();

  useLayoutEffect(() => {
    const top = box.current ? box.current.getBoundingClientRect().top + scrollY : 0;
    if (Math.abs(top - margin) > 0.5) setMargin(top);
  });

  const items = list.getVirtualItems();
  const first = items[0];
  const last = items.at(-1);
  useEffect(() => {
    if (first && last) reading.want(indexAt(first.index) - AHEAD, indexAt(last.index) + AHEAD);
  });

  usePosition(list, reading, indexAt);
  useJumps(list, reading, rows);
  const following = useFollowing(list, reading, until);

  if (printing) {
    return (
      <div className="message-list" ref={box}>
        {Array.from({ length: Math.min(count, PRINTED) }, (_, row) => {
          const passage = reading.passage(indexAt(row));
          return passage && <Message key={row} passage={passage} sieve={sieve} />;
        })}
      </div>
    );
  }
  return (
    <>
      <div className="message-list" ref={box} style={{ height: list.getTotalSize() }}>
        <div style={{ transform: `translateY(${(first?.start ?? margin) - margin}px)` }}>
          {items.map((item) => {
            const passage = reading.passage(indexAt(item.index));
            return (
              <div key={item.key} data-index={item.index} ref={list.measureElement} className="row">
                {passage ? <Message passage={passage} sieve={sieve} /> : <div className="message waiting" />}
              </div>
            );
          })}
        </div>
      </div>
      <Newer following={following} toEnd={() => toEnd(list)} />
    </>
  );
}

/** Where text begins under the bar that stays on top. */
const topOfText = (): number => (document.querySelector(".bar")?.clientHeight ?? 48) + 8;

function toEnd(list: List): void {
  list.scrollToIndex(list.options.count - 1, { align: "end" });
  requestAnimationFrame(() => scrollTo(0, document.documentElement.scrollHeight));
}

function Newer({ following, toEnd }: { following: boolean; toEnd(): void }) {
  const reading = useReading();
  if (following || (!reading.fresh && !reading.overview.live)) return null;
  return (
    <button type="button" className="newer" onClick={toEnd}>
      {reading.fresh ? `${plural(reading.fresh, "new passage")} ↓` : "● live: follow ↓"}
    </button>
  );
}

/** Tell where one is, and keep it for a reload and for back and forward. */
function usePosition(list: List, reading: Reading, indexAt: (row: number) => number): void {
  useEffect(() => {
    let timer = 0;
    const moved = () => {
      const item = list.getVirtualItemForOffset(scrollY + topOfText());
      if (!item) return;
      const passage = reading.passage(indexAt(item.index));
      reading.position.move(indexAt(item.index), passage?.turn ?? null);
      clearTimeout(timer);
      timer = window.setTimeout(() => {
        if (passage) remember({ index: passage.index, key: passage.key, offset: scrollY + topOfText() - item.start });
      }, 250);
    };
    moved();
    addEventListener("scroll", moved, { passive: true });
    return () => {
      clearTimeout(timer);
      removeEventListener("scroll", moved);
    };
  });
}

/** Go where a link, a key or a hit leads: fetch it first, so that it is measured as it stands. */
function useJumps(list: List, reading: Reading, rows: number[] | null): void {
  useVersion(reading.jumps);
  const jump = reading.jumps.last;
  const done = useRef<Jump | null>(null);
  const land = useCallback(
    async (jump: Jump) => {
      const row = rows ? rows.findIndex((index) => index >= jump.index) : jump.index;
      await Promise.all([
        reading.load(jump.index),
        reading.load(Math.max(0, jump.index - AHEAD)),
        reading.load(Math.min(reading.total - 1, jump.index + AHEAD)),
      ]);
      if (reading.jumps.last === jump && row >= 0) await landing(list, row, jump);
    },
    [list, reading, rows],
  );
  useEffect(() => {
    if (jump && done.current !== jump) {
      done.current = jump;
      void land(jump);
    }
  }, [jump, land]);
}

/** Stay at the end while it moves, unless one scrolls away. */
function useFollowing(list: List, reading: Reading, until: number | null): boolean {
  const [following, setFollowing] = useState(false);
  const lastTop = useRef(0);
  const active = following && (reading.overview.live || until !== null);
  useEffect(() => {
    const scrolled = () => {
      const atEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - NEAR_END;
      if (atEnd) setFollowing(true);
      else if (scrollY < lastTop.current - 1) setFollowing(false);
      lastTop.current = scrollY;
    };
    scrolled();
    addEventListener("scroll", scrolled, { passive: true });
    return () => removeEventListener("scroll", scrolled);
  }, []);
  useEffect(() => {
    if (until !== null) setFollowing(true);
  }, [until !== null]);
  const size = list.getTotalSize();
  useLayoutEffect(() => {
    if (active) followed();
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
