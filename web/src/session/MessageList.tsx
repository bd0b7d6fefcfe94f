/** The messages. Only those near the screen are rendered, and only pages near them are kept. */

import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { useThreadStore } from "../contexts";
import { contentTop } from "../kit/barHeight";
import { exact, plural } from "../kit/format";
import { useVersion } from "../kit/store";
import { useWindowedRows, type WindowedRows } from "../kit/useWindowedRows";
import type { Filter } from "../source";
import type { Jump, ThreadStore } from "../threadStore";
import { Divider } from "./Divider";
import { Message } from "./Message";
import { usePrinting } from "./printing";
import { savePosition, scrollToEnd, scrollToRow } from "./scrollTo";

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
  const list = useWindowedRows(container, count, ESTIMATE, rows);
  const { heights, first, last } = list;

  useEffect(() => {
    if (count) store.request(indexAt(first) - AHEAD, indexAt(last) + AHEAD);
  });
  usePosition(list, store, indexAt);
  useJumps(list, store, rows);
  const following = useFollowing(list, store, until);

  if (printed) {
    const shown = rows ? new Set(rows) : null;
    return (
      <div className="message-list" ref={container}>
        {printed.map((item) => (!shown || shown.has(item.index)) && <Message key={item.index} item={item} filter={filter} />)}
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
              <div key={indexAt(first + at)} data-index={first + at} ref={list.rowRef} className="row">
                {item && <Divider item={item} />}
                {item ? <Message item={item} filter={filter} /> : <div className="message loading" />}
              </div>
            );
          })}
        </div>
      </div>
      <NewMessages following={following} />
    </>
  );
}

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
  useEffect(() => {
    let timer = 0;
    const current = () => {
      const offset = scrollY - margin + contentTop();
      const row = heights.at(offset);
      return { index: indexAt(row), item: store.item(indexAt(row)), offset: offset - heights.top(row) };
    };
    const save = () => {
      const { index, item, offset } = current();
      if (item) savePosition({ index, key: item.key, offset });
    };
    const moved = () => {
      const { index, item } = current();
      store.position.move(index, item?.turn ?? null);
      clearTimeout(timer);
      timer = window.setTimeout(save, 250);
    };
    addEventListener("scroll", moved, { passive: true });
    addEventListener("pagehide", save);
    return () => {
      clearTimeout(timer);
      removeEventListener("scroll", moved);
      removeEventListener("pagehide", save);
    };
  }, [heights, margin, store, indexAt]);
}

/** Scroll to the target of each jump, after its items are loaded and can be measured. */
function useJumps(list: WindowedRows, store: ThreadStore, rows: number[] | null): void {
  useVersion(store.jumps);
  const jump = store.jumps.last;
  const done = useRef<Jump | null>(null);
  const latest = useRef(list);
  latest.current = list;
  const carryOut = useCallback(
    async (jump: Jump) => {
      const row = rows ? rows.findIndex((index) => index >= jump.index) : jump.index;
      await Promise.all([
        store.load(jump.index),
        store.load(Math.max(0, jump.index - AHEAD)),
        store.load(Math.min(store.total - 1, jump.index + AHEAD)),
      ]);
      if (store.jumps.last === jump && row >= 0) await scrollToRow(latest.current, row, jump);
    },
    [store, rows],
  );
  useEffect(() => {
    if (jump && done.current !== jump) {
      done.current = jump;
      void carryOut(jump);
    }
  }, [jump, carryOut]);
}

/** Stay at the end while the list grows, until the user scrolls up. */
function useFollowing({ heights, margin }: WindowedRows, store: ThreadStore, until: number | null): boolean {
  const [following, setFollowing] = useState(false);
  const lastTop = useRef(0);
  const active = following && (store.overview.live || until !== null);
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
  const height = heights.total;
  useLayoutEffect(() => {
    if (active) scrollToEnd();
  }, [active, height, store.total, until]);
  useEffect(() => {
    if (following) store.markSeen();
  });
  return following;
}
