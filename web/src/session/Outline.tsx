/** The outline of a session: its turns, with one mark for each call, and the agents that each started. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useState } from "react";
import { useThreadStore } from "../contexts";
import { useKept } from "../kit/kept";
import { useSelector, useVersion } from "../kit/store";
import { ForkIcon } from "../kit/ForkIcon";
import { VirtualRows } from "../kit/VirtualRows";
import { PlainText } from "../kit/PlainText";
import { exact, plural } from "../kit/format";
import { sessionHref } from "../route";
import type { OutlineTurn } from "../data/values";
import { Marks } from "./Marks";
import { OutlineAgents } from "./OutlineAgents";
import { placeAgents, type PlacedAgent } from "./placeAgents";

const ESTIMATE = 48;
/** How long the position must be stable before the outline follows, in milliseconds. */
const SETTLED = 80;
/** How many agents are listed at first: of one turn, and of those that belong to none. */
const TURN_AGENTS = 6;
const OTHER_AGENTS = 200;
/** Stands for the agents that belong to no turn. */
const OTHERS = 0;

const NONE: ReadonlySet<number> = new Set();

export function Outline({ onTurn }: { onTurn(turn: OutlineTurn): void }) {
  const store = useThreadStore();
  useVersion(store);
  const turn = useSettled(useSelector(store.position, (position) => position.turn));
  const { overview } = store;
  const placed = useMemo(() => placeAgents(overview), [overview]);
  const [unfolded, setUnfolded] = useKept<ReadonlySet<number>>("unfolded turns", NONE);
  const unfold = (turn: number) => setUnfolded(new Set([...unfolded, turn]));
  const container = useRef<HTMLDivElement>(null);
  const list = useVirtualizer({
    count: store.turns,
    getScrollElement: () => container.current,
    estimateSize: () => ESTIMATE,
    overscan: 8,
    scrollPaddingStart: ESTIMATE,
    scrollPaddingEnd: ESTIMATE,
  });
  const items = list.getVirtualItems();
  const first = store.turn(0);
  useEffect(() => {
    if (!items.length) return;
    // In the next frame, so that the items are requested first.
    const frame = requestAnimationFrame(() => store.requestTurns(items[0]?.index ?? 0, items.at(-1)?.index ?? 0));
    return () => cancelAnimationFrame(frame);
  });
  const current = first ? turn - first.index : 0;
  const loaded = store.turn(current) !== undefined;
  useEffect(() => {
    if (first) list.scrollToIndex(current, { align: "auto" });
    // Again once its marks are loaded, which change its height.
  }, [current, first, loaded, list]);
  return (
    <nav className="outline" aria-label="Turns">
      <div className="outline-scroll" ref={container} tabIndex={-1}>
        <VirtualRows list={list}>
          {(index) => {
            const mark = store.turn(index);
            const number = mark?.index ?? index + 1;
            const agents = placed.turns.get(number) ?? [];
            return (
              <>
                <Turn mark={mark} number={number} current={turn} agents={agents} onTurn={onTurn} />
                {agents.length > 0 && (
                  <OutlineAgents
                    agents={agents}
                    most={unfolded.has(number) ? Infinity : TURN_AGENTS}
                    label={`Agents of turn ${number}`}
                    onMore={() => unfold(number)}
                  />
                )}
                {mark?.compacted && <p className="divider small">Compacted</p>}
              </>
            );
          }}
        </VirtualRows>
        {placed.others.length > 0 && (
          <section className="other-agents">
            <h2 className="label">{placed.turns.size ? "Other agents" : "Agents"}</h2>
            <OutlineAgents
              agents={placed.others}
              most={unfolded.has(OTHERS) ? Infinity : OTHER_AGENTS}
              label="Agents of no turn here"
              onMore={() => unfold(OTHERS)}
            />
          </section>
        )}
      </div>
    </nav>
  );
}

/** A value once it is stable: the outline need not follow every frame of a scroll. */
function useSettled(value: number): number {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), SETTLED);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

interface TurnProps {
  mark: OutlineTurn | undefined;
  number: number;
  /** The number of the turn on the screen. */
  current: number;
  /** Those listed below it. */
  agents: PlacedAgent[];
  onTurn(turn: OutlineTurn): void;
}

function Turn({ mark, number, current, agents, onTurn }: TurnProps) {
  const { thread } = useThreadStore();
  return (
    <a
      className="turn"
      href={sessionHref(thread, { turn: number })}
      aria-current={current === number ? "location" : undefined}
      onClick={(event) => {
        if (!mark || event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        onTurn(mark);
      }}
    >
      <span className="turn-number">{number}</span>
      <PlainText className="turn-title" text={mark?.title ?? ""} />
      {mark && (
        <span className="turn-marks">
          <Marks marks={mark.marks} />
          {mark.more > 0 && <span className="muted">+{exact(mark.more)}</span>}
          {mark.edits > 0 && <span title={plural(mark.edits, "edit")}>✎ {mark.edits}</span>}
          {mark.errors > 0 && (
            <span className="failed" title={`${mark.errors} failed`}>
              ✗ {mark.errors}
            </span>
          )}
          {mark.agents > 0 && !agents.length && <span title={plural(mark.agents, "agent")}>◇ {mark.agents}</span>}
          {mark.branches > 0 && (
            <span title={`${plural(mark.branches, "other branch", "other branches")} from here`}>
              <ForkIcon /> {mark.branches}
            </span>
          )}
        </span>
      )}
    </a>
  );
}
