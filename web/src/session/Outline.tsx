/** The outline of a session: its turns, with one mark for each call, and its agents. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState } from "react";
import { useThreadStore } from "../contexts";
import { useSelector, useVersion } from "../kit/store";
import { ForkIcon } from "../kit/ForkIcon";
import { VirtualRows } from "../kit/VirtualRows";
import { PlainText } from "../kit/PlainText";
import { exact, plural } from "../kit/format";
import { sessionHref } from "../route";
import type { AgentInfo, OutlineTurn } from "../values";
import { Marks } from "./Marks";

const ESTIMATE = 48;
/** How long the position must be stable before the outline follows, in milliseconds. */
const SETTLED = 80;
const MOST_AGENTS = 200;

export function Outline({ onTurn }: { onTurn(turn: OutlineTurn): void }) {
  const store = useThreadStore();
  useVersion(store);
  const turn = useSettled(useSelector(store.position, (position) => position.turn));
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
          {(index) => <Turn mark={store.turn(index)} index={index + 1} current={turn} onTurn={onTurn} />}
        </VirtualRows>
        <Agents agents={store.overview.agents} />
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
  /** The number to show until the mark is loaded. */
  index: number;
  /** The number of the turn on the screen. */
  current: number;
  onTurn(turn: OutlineTurn): void;
}

function Turn({ mark, index, current, onTurn }: TurnProps) {
  const { thread } = useThreadStore();
  const number = mark?.index ?? index;
  return (
    <>
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
        <span className="turn-title">
          <PlainText text={mark?.title ?? ""} />
        </span>
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
            {mark.agents > 0 && <span title={plural(mark.agents, "agent")}>◇ {mark.agents}</span>}
            {mark.branches > 0 && (
              <span title={`${plural(mark.branches, "other branch", "other branches")} from here`}>
                <ForkIcon /> {mark.branches}
              </span>
            )}
          </span>
        )}
      </a>
      {mark?.compacted && <p className="divider small">Compacted</p>}
    </>
  );
}

/** The agents in tree order: each after the one that started it. */
function inTree(agents: AgentInfo[], parent: string | null = null): AgentInfo[] {
  return agents
    .filter((agent) => agent.parent === parent)
    .flatMap((agent) => [agent, ...inTree(agents, agent.id)]);
}

function Agents({ agents }: { agents: AgentInfo[] }) {
  const { thread } = useThreadStore();
  if (!agents.length) return null;
  return (
    <section className="outline-agents">
      <h2 className="label">Agents</h2>
      {inTree(agents).slice(0, MOST_AGENTS).map((agent) => (
        <a
          key={agent.id}
          className={agent.parent ? "turn nested" : "turn"}
          href={sessionHref({ session: thread.session, agent: agent.id })}
          aria-current={thread.agent === agent.id ? "page" : undefined}
        >
          <span className="turn-number">◇</span>
          <span className="turn-title">
            <PlainText text={[agent.type, agent.title].filter(Boolean).join(": ")} />
          </span>
        </a>
      ))}
    </section>
  );
}
