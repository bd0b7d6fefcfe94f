/** How full the context was at the end of each turn. */

import { memo } from "react";
import { useReading } from "../contexts";
import { exact, short } from "../kit/words";
import type { Fill } from "../values";
import { goTurn } from "./walking";

const HEIGHT = 28;
const FEWEST = 4;
const BAR = 10;
const WIDEST = 480;

interface Props {
  /** Null until they are here: their room is kept. */
  bars: Fill[] | null;
  turns: number;
}

export const ContextChart = memo(function ContextChart({ bars, turns }: Props) {
  const reading = useReading();
  if (!bars) return turns < FEWEST ? null : <figure className="context" style={{ height: HEIGHT }} />;
  if (bars.length < FEWEST) return null;
  const peak = Math.max(...bars.map((fill) => fill.peak ?? fill.tokens ?? 0));
  const known = bars.at(-1)?.window ?? null;
  return (
    <figure className="context">
      <svg
        viewBox={`0 0 ${bars.length} ${HEIGHT}`}
        height={HEIGHT}
        width={Math.min(WIDEST, bars.length * BAR)}
        preserveAspectRatio="none"
        role="img"
        aria-label={`context over ${bars.length} turns, at most ${exact(peak)} tokens`}
      >
        {bars.map((fill, index) => {
          const height = Math.max(1, ((fill.peak ?? fill.tokens ?? 0) / Math.max(peak, 1)) * HEIGHT);
          return (
            <g key={fill.turn} onClick={() => void goTurn(reading, fill.turn)}>
              <title>{said(fill)}</title>
              <rect className="hover" x={index} y={0} width={1} height={HEIGHT} />
              <rect
                className={fill.compactions.length ? "fill compacted" : "fill"}
                x={index + 0.1}
                y={HEIGHT - height}
                width={0.8}
                height={height}
              />
            </g>
          );
        })}
      </svg>
      <figcaption>
        context, at most {short(peak)}
        {known !== null && ` of ${short(known)} (${Math.round((peak / known) * 100)} %)`}
      </figcaption>
    </figure>
  );
});

function said(fill: Fill): string {
  const share = fill.window && fill.tokens !== null ? ` (${Math.round((fill.tokens / fill.window) * 100)} %)` : "";
  const compacted = fill.compactions.map(
    ({ before, after }) => `compacted${before !== null ? ` from ${exact(before)}` : ""}${after !== null ? ` to ${exact(after)}` : ""}`,
  );
  return [`turn ${fill.turn}: ${exact(fill.tokens ?? 0)} tokens${share}`, ...compacted].join("\n");
}
