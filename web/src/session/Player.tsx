/** A replay: the messages appear one after another, at a chosen speed. */

import { useEffect, useState } from "react";
import { useThreadStore } from "../contexts";
import { replayDelay } from "../data/clock";
import { timeOfDay, exact } from "../kit/format";
import { useVersion } from "../kit/store";

const SPEEDS = [1, 2, 4, 8, 16, 32];

export interface Replay {
  playing: boolean;
  /** The number of items shown so far. */
  until: number;
}

interface Props {
  replay: Replay;
  onChange(replay: Replay | null): void;
}

export function Player({ replay, onChange }: Props) {
  const store = useThreadStore();
  useVersion(store);
  const [speed, setSpeed] = useState(4);
  const { playing, until } = replay;
  const ended = until >= store.total;
  const item = store.item(until - 1);

  useEffect(() => {
    if (!playing || ended) return;
    let timer = 0;
    let current = true;
    void Promise.all([store.load(until - 1), store.load(until)]).then(([now, next]) => {
      if (!current) return;
      const seconds = replayDelay(now?.time ?? null, next?.time ?? null, speed);
      timer = window.setTimeout(() => onChange({ playing: true, until: until + 1 }), Math.max(30, seconds * 1000));
    });
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [playing, until, speed, ended, store]);

  const seek = (to: number) => onChange({ playing, until: Math.max(1, Math.min(to, store.total)) });
  return (
    <section className="player" aria-label="Replay">
      <button type="button" onClick={() => onChange(ended ? { playing: true, until: 1 } : { playing: !playing, until })}>
        {ended ? "Replay" : playing ? "Pause" : "Play"}
      </button>
      <button type="button" onClick={() => seek(until - 1)} aria-label="Previous message">
        ‹
      </button>
      <button type="button" onClick={() => seek(until + 1)} aria-label="Next message">
        ›
      </button>
      <input
        type="range"
        min={1}
        max={store.total}
        value={until}
        aria-label="Position"
        onChange={(event) => seek(Number(event.target.value))}
      />
      <span className="num">
        {exact(until)} of {exact(store.total)}
        {item?.time && ` · ${timeOfDay(item.time)}`}
      </span>
      <label>
        Speed{" "}
        <select value={speed} onChange={(event) => setSpeed(Number(event.target.value))}>
          {SPEEDS.map((choice) => (
            <option key={choice} value={choice}>
              {choice}×
            </option>
          ))}
        </select>
      </label>
      <button type="button" className="link-button" onClick={() => onChange(null)}>
        Stop
      </button>
    </section>
  );
}
