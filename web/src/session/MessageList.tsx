/** The messages. Only those near the screen are rendered, and only pages near them are kept. */

import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { listen } from "../kit/listen";
import { useThreadStore } from "../contexts";
import { contentTop } from "../kit/barHeight";
import { exact, plural } from "../kit/format";
import { useVersion } from "../kit/store";
import { useWindowedRows, type WindowedRows } from "../kit/useWindowedRows";
import type { Filter } from "../data/source";
import type { ThreadStore } from "../data/threadStore";
import { Divider } from "./Divider";
import { MessageRow } from "./MessageRow";
import { usePrinting } from "./printing";
import { savePosition } from "./scrollPosition";
import { useJumps } from "./useJumps";

/** The height of a row that is not measured yet. */
const ESTIMATE = 88;
/** Items loaded before they come near the screen. */
const AHEAD = 20;
/** Pixels from the end at which the list counts as scrolled to the end. */
const NEAR_END = 64;

interface Props {
  /** The items to show; null for all. */
  rows: number[] | null;
  filter: Filter | null;
  /** The number of items that a replay has reached; null if there is none. */
  until: number | null;
}

export function MessageList({ rows, filter, until }: Props) {
  const store = useThreadStore();
  useVersion(store);
  const container = useRef<HTMLDivElement>(null);
  const printed = usePrinting(store);
  const count = rows ? rows.length : Math.min(until ?? store.total, store.total);
  const indexAt = useCallback((row: number) => (rows ? (rows[row] ?? 0) : row), [rows]);
  const isHeld = useCallback(() => store.jumps.current !== null, [store]);
  const list = useWindowedRows(container, count, ESTIMATE, rows, isHeld);
  const { heights, first, last } = list;

  useEffect(() => {
    if (count) store.request(indexAt(first) - AHEAD, indexAt(last) + AHEAD);
  });
  usePosition(list, store, indexAt);
  useJumps(list, store.jumps, container, rows);
  const following = useFollowing(list, store, until);

  if (printed) {
    const shown = rows ? new Set(rows) : null;
    return (
      <div className="message-list" ref={container}>
        {printed.map((item) => (!shown || shown.has(item.index)) && <MessageRow key={item.index} item={item} filter={filter} />)}
        {printed.length < store.total && (
          <p className="note">
            The first {exact(printed.length)} of {plural(store.total, "message")}.
          </p>
        )}
      </div>
    );
  }
  return (
    <>
      <div className="message-list" ref={container} style={{ height: heights.total }}>
        <div style={{ transform: `translateY(${heights.top(first)}px)` }}>
          {Array.from({ length: last - first + 1 }, (_, at) => {
            const item = store.item(indexAt(first + at));
            return (
              // A message is another element than the empty row that kept its place, which moves unseen.
              <div key={item ? indexAt(first + at) : `waits ${indexAt(first + at)}`} data-index={first + at} ref={list.rowRef} className="row">
                {item && <Divider item={item} />}
                {item ? <MessageRow item={item} filter={filter} /> : <div className="message loading" />}
              </div>
            );
          })}
        </div>
      </div>
      <NewMessages following={following} />
    </>
  );
}

const scrollToEnd = () => scrollTo(0, document.documentElement.scrollHeight);

function NewMessages({ following }: { following: boolean }) {
  const store = useThreadStore();
  if (following || (!store.newItems && !store.overview.live)) return null;
  return (
    <button type="button" className="new-messages" onClick={scrollToEnd}>
      {store.newItems ? `${plural(store.newItems, "new message")} ↓` : "● Live: follow ↓"}
    </button>
  );
}

/** Track the scroll position, and save it for reload, back and forward. */
function usePosition({ heights, margin }: WindowedRows, store: ThreadStore, indexAt: (row: number) => number): void {
  const update = useCallback(() => {
    const offset = scrollY - margin + contentTop();
    const row = heights.at(offset + 1); // a page cannot be scrolled by less than a pixel
    const index = indexAt(row);
    const item = store.item(index);
    store.position.move(index, item?.turn ?? null);
    return item && { index, key: item.key, offset: offset - heights.top(row) };
  }, [heights, margin, store, indexAt]);
  // Rows that are measured can change what is at the top without scrolling.
  useEffect(() => void update());
  const latest = useRef(update); // where the list begins may have changed since the page was scrolled
  latest.current = update;
  useEffect(() => {
    let timer = 0;
    let scrolledAt = "";
    const save = () => {
      clearTimeout(timer);
      timer = 0;
      // The position belongs to the address at which the page was scrolled.
      if (location.hash !== scrolledAt) return;
      const position = latest.current();
      if (position && !store.jumps.underWay) savePosition(position);
    };
    const saveNow = () => void (timer && save());
    const scrolled = () => {
      scrolledAt = location.hash;
      latest.current();
      clearTimeout(timer);
      timer = window.setTimeout(save, 250);
    };
    const stops = [
      listen({ scroll: scrolled, pagehide: saveNow }, { passive: true }),
      // Before a link is followed.
      listen({ click: saveNow, keydown: saveNow }, { passive: true, capture: true }),
    ];
    return () => {
      saveNow();
      for (const stop of stops) stop();
    };
  }, [store]);
}

/** Stay at the end while the list grows, until the user scrolls up. */
function useFollowing({ heights, margin }: WindowedRows, store: ThreadStore, until: number | null): boolean {
  const { jumps } = store;
  const [following, setFollowing] = useState(false);
  const lastTop = useRef(0);
  const active = following && (store.overview.live || until !== null);
  useEffect(() => {
    const scrolled = () => {
      const atEnd = innerHeight + scrollY >= margin + heights.total - NEAR_END;
      if (jumps.underWay) setFollowing(false);
      else if (atEnd) setFollowing(true);
      else if (scrollY < lastTop.current - 1) setFollowing(false);
      lastTop.current = scrollY;
    };
    scrolled();
    return listen({ scroll: scrolled }, { passive: true });
  }, [heights, margin, jumps, jumps.current, jumps.reached]);
  useEffect(() => {
    if (until === null) return;
    jumps.cancel();
    setFollowing(true);
  }, [until !== null]);
  const height = heights.total;
  useLayoutEffect(() => {
    if (!active || jumps.underWay) return;
    jumps.release();
    scrollToEnd();
  }, [active, height, store.total, until]);
  useEffect(() => {
    if (following) store.markSeen();
  });
  return following;
}
