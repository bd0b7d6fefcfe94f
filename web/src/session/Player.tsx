/** A replay: the session appears as it did, at a chosen speed. */

import { useEffect, useState } from "react";
import { useReading } from "../contexts";
import { wait } from "../clock";
import { clock, exact } from "../kit/words";
import { useVersion } from "../kit/store";

const SPEEDS = [1, 2, 4, 8, 16, 32];

export interface Replay {
  playing: boolean;
  /** How many passages are on the screen. */
  until: number;
}

interface Props {
  replay: Replay;
  onChange(replay: Replay | null): void;
}

export function Player({ replay, onChange }: Props) {
  const reading = useReading();
  useVersion(reading);
  const [speed, setSpeed] = useState(4);
  const { playing, until } = replay;
  const ended = until >= reading.total;
  const passage = reading.passage(until - 1);

  useEffect(() => {
    if (!playing || ended) return;
    let timer = 0;
    let current = true;
    void Promise.all([reading.load(until - 1), reading.load(until)]).then(([now, next]) => {
      if (!current) return;
      const seconds = wait(now?.time ?? null, next?.time ?? null, speed);
      timer = window.setTimeout(() => onChange({ playing: true, until: until + 1 }), Math.max(30, seconds * 1000));
    });
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [playing, until, speed, ended, reading]);

  const seek = (to: number) => onChange({ playing, until: Math.max(1, Math.min(to, reading.total)) });
  return (
    <div className="player" role="group" aria-label="replay">
      <button type="button" onClick={() => onChange(ended ? { playing: true, until: 1 } : { playing: !playing, until })}>
        {ended ? "again" : playing ? "pause" : "play"}
      </button>
      <button type="button" onClick={() => seek(until - 1)} aria-label="one back">
        ‹
      </button>
      <button type="button" onClick={() => seek(until + 1)} aria-label="one step">
        ›
      </button>
      <input
        type="range"
        min={1}
        max={reading.total}
        value={until}
        aria-label="where in the session"
        onChange={(event) => seek(Number(event.target.value))}
      />
      <span className="num">
        {exact(until)} of {exact(reading.total)}
        {passage?.time && ` · ${clock(passage.time)}`}
      </span>
      <label>
        speed{" "}
        <select value={speed} onChange={(event) => setSpeed(Number(event.target.value))}>
          {SPEEDS.map((choice) => (
            <option key={choice} value={choice}>
              {choice}×
            </option>
          ))}
        </select>
      </label>
      <button type="button" className="quiet" onClick={() => onChange(null)}>
        end
      </button>
    </div>
  );
}
