/** The turns, with one mark a call: the map of the session. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState } from "react";
import { useReading } from "../contexts";
import { usePicked, useVersion } from "../kit/store";
import { ForkIcon } from "../kit/ForkIcon";
import { VirtualRows } from "../kit/VirtualRows";
import { Plain } from "../kit/visible";
import { exact, plural } from "../kit/words";
import { sessionHref } from "../route";
import type { AgentMark, TurnMark } from "../values";
import { Marks } from "./Marks";

const ESTIMATE = 48;
/** Milliseconds. */
const REST = 80;
const MOST_AGENTS = 200;

export function Outline({ onGo }: { onGo(turn: TurnMark): void }) {
  const reading = useReading();
  useVersion(reading);
  const turn = useRested(usePicked(reading.position, (position) => position.turn));
  const box = useRef<HTMLDivElement>(null);
  const list = useVirtualizer({
    count: reading.turns,
    getScrollElement: () => box.current,
    estimateSize: () => ESTIMATE,
    overscan: 8,
  });
  const items = list.getVirtualItems();
  const first = reading.turn(0);
  useEffect(() => {
    if (items.length) reading.wantTurns(items[0]?.index ?? 0, items.at(-1)?.index ?? 0);
  });
  useEffect(() => {
    if (first) list.scrollToIndex(turn - first.index, { align: "auto" });
  }, [turn, first, list]);
  return (
    <nav className="outline" aria-label="turns">
      <div className="outline-scroll" ref={box} tabIndex={-1}>
        <VirtualRows list={list}>
          {(index) => <Turn mark={reading.turn(index)} index={index + 1} turn={turn} onGo={onGo} />}
        </VirtualRows>
        <Agents agents={reading.overview.agents} />
      </div>
    </nav>
  );
}

/** A value once it rests: the map need not follow every frame of a scroll. */
function useRested(value: number): number {
  const [rested, setRested] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), REST);
    return () => clearTimeout(timer);
  }, [value]);
  return rested;
}

interface TurnProps {
  mark: TurnMark | undefined;
  /** Its number, until the mark is here. */
  index: number;
  /** The one that is on the screen. */
  turn: number;
  onGo(turn: TurnMark): void;
}

function Turn({ mark, index, turn, onGo }: TurnProps) {
  const { thread } = useReading();
  const number = mark?.index ?? index;
  return (
    <>
      <a
        className="turn"
        href={sessionHref(thread, { turn: number })}
        aria-current={turn === number ? "location" : undefined}
        onClick={(event) => {
          if (!mark || event.ctrlKey || event.metaKey || event.shiftKey) return;
          event.preventDefault();
          onGo(mark);
        }}
      >
        <span className="turn-number">{number}</span>
        <span className="turn-title">
          <Plain text={mark?.title ?? ""} />
        </span>
        {mark && (
          <span className="turn-marks">
            <Marks marks={mark.marks} />
            {mark.more > 0 && <span className="faint">+{exact(mark.more)}</span>}
            {mark.edits > 0 && <span title={plural(mark.edits, "edit")}>✎ {mark.edits}</span>}
            {mark.errors > 0 && (
              <span className="failed" title={`${mark.errors} failed`}>
                ✗ {mark.errors}
              </span>
            )}
            {mark.agents > 0 && <span title={plural(mark.agents, "agent")}>◇ {mark.agents}</span>}
            {mark.branches > 0 && (
              <span title={`${plural(mark.branches, "branch leaves", "branches leave")} here`}>
                <ForkIcon /> {mark.branches}
              </span>
            )}
          </span>
        )}
      </a>
      {mark?.compacted && <p className="divider small">compacted</p>}
    </>
  );
}

/** Each agent after the one that started it. */
function inTree(agents: AgentMark[], parent: string | null = null): AgentMark[] {
  return agents
    .filter((agent) => agent.parent === parent)
    .flatMap((agent) => [agent, ...inTree(agents, agent.id)]);
}

function Agents({ agents }: { agents: AgentMark[] }) {
  const { thread } = useReading();
  if (!agents.length) return null;
  return (
    <section className="outline-agents">
      <h2 className="label">agents</h2>
      {inTree(agents).slice(0, MOST_AGENTS).map((agent) => (
        <a
          key={agent.id}
          className={agent.parent ? "turn inner" : "turn"}
          href={sessionHref({ session: thread.session, agent: agent.id })}
          aria-current={thread.agent === agent.id ? "page" : undefined}
        >
          <span className="turn-number">◇</span>
          <span className="turn-title">
            <Plain text={[agent.type, agent.title].filter(Boolean).join(": ")} />
          </span>
        </a>
      ))}
    </section>
  );
}
