/** A session on the screen: outline, head, document, and the ways through it. */

import { useEffect, useRef, useState } from "react";
import { useReading } from "../contexts";
import { EVERYTHING, keepsAll } from "../filter";
import { useVersion } from "../kit/store";
import { toError } from "../kit/useAsked";
import { nodesText } from "../looking";
import { hasTarget, sessionHref, type SessionRoute } from "../route";
import { Bar } from "../shell/Bar";
import type { Hit, TurnMark } from "../values";
import { asideKey } from "../parts/Asides";
import { Filters } from "./Filters";
import { Hits } from "./Hits";
import { remembered } from "./landing";
import { MessageList } from "./MessageList";
import { Outline } from "./Outline";
import { Player, type Replay } from "./Player";
import { SearchBar } from "./SearchBar";
import { SessionHead } from "./SessionHead";
import { useFiltered } from "./useFiltered";
import { useFoundMarks } from "./useFoundMarks";
import { useKeys } from "./useKeys";
import { useSearch } from "./useSearch";
import { goTo, goTurn, nextError, stepCall, stepTurn, toggleCall } from "./walking";

export function SessionRenderer({ route, hash }: { route: SessionRoute; hash: string }) {
  const reading = useReading();
  useVersion(reading);
  const [drawer, setDrawer] = useState(false);
  const [replay, setReplay] = useState<Replay | null>(null);
  const [filter, setFilter] = useState(EVERYTHING);
  const [query, setQuery] = useState(route.query);
  const search = useSearch(reading, query);
  const rows = useFiltered(reading, filter);
  const main = useRef<HTMLElement>(null);
  useFoundMarks(main, query);
  useArrival(route, hash);

  const tell = (doing: Promise<void>) => void doing.catch((error: unknown) => reading.say(toError(error).message));
  const seek = (passage: number) => replay && setReplay({ ...replay, until: passage + 1 });
  const goToTurn = (turn: TurnMark) => {
    setDrawer(false);
    if (replay) seek(turn.passage);
    else tell(goTo(reading, turn.passage, null));
  };
  const goToHit = (hit: Hit) => {
    setDrawer(false);
    const { session, agent } = reading.thread;
    if (hit.agent && hit.agent !== agent) {
      location.hash = sessionHref({ session, agent: hit.agent }, { message: hit.key }, query);
      return;
    }
    tell(openHit(reading, hit));
  };
  const play = () =>
    setReplay((now) => (now ? { ...now, playing: !now.playing } : { playing: true, until: Math.min(1, reading.total) }));
  const branch = (step: number) => {
    const { branches, branch } = reading.overview;
    const at = branches.findIndex(({ id }) => id === branch);
    const next = branches[at + step];
    if (next) location.hash = sessionHref({ ...reading.thread, branch: next.id });
  };
  const number = useNumber((turn) => tell(goTurn(reading, turn)));

  useKeys({
    ...number.deeds,
    j: () => tell(stepTurn(reading, 1)),
    k: () => tell(stepTurn(reading, -1)),
    n: () => tell(stepCall(reading, 1)),
    p: () => tell(stepCall(reading, -1)),
    o: () => toggleCall(reading),
    Enter: () => toggleCall(reading),
    e: () => tell(nextError(reading)),
    t: () => reading.opened.toggleThinking(),
    G: () => tell(goTo(reading, reading.total - 1, null)),
    "[": () => branch(-1),
    "]": () => branch(1),
    " ": play,
    "/": () => document.querySelector<HTMLInputElement>(".bar input[type=search]")?.focus(),
    Escape: () => {
      if (drawer) setDrawer(false);
      else if (query) setQuery("");
      else setReplay(null);
    },
  });

  return (
    <>
      <Bar page="session">
        <button type="button" className="drawer-button" aria-expanded={drawer} onClick={() => setDrawer(!drawer)}>
          turns
        </button>
        <SearchBar query={query} onQuery={setQuery} search={search} onHit={goToHit} />
      </Bar>
      <div className={`session${drawer ? " drawer-open" : ""}`}>
        <div className="side">
          {query ? <Hits search={search} query={query} onHit={goToHit} /> : <Outline onGo={goToTurn} />}
        </div>
        {drawer && <div className="veil" onClick={() => setDrawer(false)} />}
        <main ref={main}>
          <SessionHead onPlay={play} playing={replay !== null} />
          <Filters filter={filter} onChange={setFilter} found={rows} />
          <MessageList
            rows={replay || keepsAll(filter) ? null : rows.indices}
            filter={keepsAll(filter) ? null : filter}
            until={replay?.until ?? null}
          />
          {number.typed !== null && (
            <p className="typed" role="status">
              turn {number.typed || "…"}
            </p>
          )}
        </main>
      </div>
      {replay && <Player replay={replay} onChange={setReplay} />}
    </>
  );
}

type ReadingNow = ReturnType<typeof useReading>;

async function openHit(reading: ReadingNow, hit: Hit): Promise<void> {
  const passage = await reading.load(hit.passage);
  passage?.parts.forEach((part, at) => {
    if (hit.where === "thinking" && part.part === "thinking") {
      reading.opened.open(`thinking:${passage.key}:${at}`, reading.opened.thinking);
    }
    if (part.part === "nodes" && part.title && nodesText(part.nodes).includes(hit.match)) reading.opened.open(asideKey(passage, at));
    if (part.part === "compaction" && part.summary.includes(hit.match)) reading.opened.open(`summary:${passage.key}:${at}`);
  });
  await goTo(reading, hit.passage, hit.call, true);
}

/** Land where the address leads, or where one was before a reload. */
function useArrival({ target, thread }: SessionRoute, hash: string): void {
  const reading = useReading();
  const [missing, setMissing] = useState(false);
  useEffect(() => {
    const rest = remembered();
    if (rest) {
      reading.jumps.to({ index: Math.min(rest.index, reading.total - 1), call: null, offset: rest.offset });
      return;
    }
    if (!hasTarget(target)) {
      scrollTo(0, 0);
      return;
    }
    let current = true;
    const landed = reading.source.place(reading.thread, target).then((place) => {
      if (!current) return;
      if (!place) return setMissing(true);
      if ((place.agent ?? undefined) !== thread.agent) {
        location.replace(sessionHref({ session: thread.session, agent: place.agent ?? undefined }, target));
        return;
      }
      return goTo(reading, place.passage, place.call, true);
    });
    landed.catch((error: unknown) => reading.say(toError(error).message));
    return () => {
      current = false;
    };
  }, [reading, hash]);
  useEffect(() => {
    if (missing) reading.say("What the address names is not in this session; this is its beginning.");
  }, [missing, reading]);
}

/** `g`, then digits: the number of a turn. */
function useNumber(go: (turn: number) => void) {
  const [typed, setTyped] = useState<string | null>(null);
  useEffect(() => {
    if (typed === null) return;
    const timer = setTimeout(() => {
      if (typed) go(Number(typed));
      setTyped(null);
    }, 900);
    return () => clearTimeout(timer);
  }, [typed]);
  const digits = Array.from({ length: 10 }, (_, digit) => String(digit));
  const typing = Object.fromEntries(digits.map((digit) => [digit, () => setTyped(`${typed ?? ""}${digit}`)]));
  const start = () => {
    if (typed === "") go(1);
    setTyped(typed === null ? "" : null);
  };
  return { typed, deeds: typed === null ? { g: start } : { ...typing, g: start } };
}
