/** The size of the context at the end of each turn. */

import { memo } from "react";
import { useThreadStore } from "../contexts";
import { exact, share, tokens } from "../kit/format";
import type { ContextFill } from "../data/values";
import { goToTurn } from "./navigation";

const HEIGHT = 28;
const FEWEST = 4;
const BAR_WIDTH = 10;
const WIDEST = 480;

interface Props {
  /** Null until they are loaded; the space is reserved. */
  bars: ContextFill[] | null;
  turns: number;
  /** Shows what filled the context at the end of a turn. */
  onOpen?: ((turn: number) => void) | undefined;
}

export const ContextChart = memo(function ContextChart({ bars, turns, onOpen }: Props) {
  const store = useThreadStore();
  if (turns < FEWEST) return null;
  if (!bars || bars.length < FEWEST) return <figure className="context" style={{ height: HEIGHT }} />;
  const peak = Math.max(...bars.map((fill) => fill.peak ?? fill.tokens ?? 0));
  const window = bars.at(-1)?.window ?? null;
  return (
    <figure className="context">
      <svg
        viewBox={`0 0 ${bars.length} ${HEIGHT}`}
        height={HEIGHT}
        width={Math.min(WIDEST, bars.length * BAR_WIDTH)}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Context size over ${bars.length} turns, peak ${exact(peak)} tokens`}
      >
        {bars.map((fill, index) => {
          const height = Math.max(1, ((fill.peak ?? fill.tokens ?? 0) / Math.max(peak, 1)) * HEIGHT);
          return (
            <g key={fill.turn} onClick={() => (onOpen ? onOpen(fill.turn) : void goToTurn(store, fill.turn))}>
              <title>{tooltip(fill)}</title>
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
        Context: peak {tokens(peak)} {window !== null && `of ${tokens(window)} `}tokens
        {window !== null && ` (${share(peak / window)})`}{" "}
        {onOpen && (
          <button type="button" className="link-button" onClick={() => onOpen(bars.at(-1)?.turn ?? turns)}>
            What fills it
          </button>
        )}
      </figcaption>
    </figure>
  );
});

function tooltip(fill: ContextFill): string {
  const part = fill.window && fill.tokens !== null ? ` (${share(fill.tokens / fill.window)})` : "";
  const compacted = fill.compactions.map(
    ({ before, after }) => `compacted${before !== null ? ` from ${exact(before)}` : ""}${after !== null ? ` to ${exact(after)}` : ""}`,
  );
  return [`Turn ${fill.turn}: ${exact(fill.tokens ?? 0)} tokens${part}`, ...compacted].join("\n");
}
