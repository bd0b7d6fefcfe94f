/** The page of an open session: outline, header, messages, search, filters, replay and keyboard shortcuts. */

import { useEffect, useRef, useState } from "react";
import { useThreadStore } from "../contexts";
import { isEmpty, NO_FILTER } from "../filter";
import { itemTexts } from "../itemTexts";
import { DENSITIES, settings, type Density } from "../kit/settings";
import { useVersion } from "../kit/store";
import { toError } from "../kit/toError";
import { useKeys } from "../kit/useKeys";
import { detailsKey, summaryKey, thinkingKey } from "../parts/keys";
import { hasTarget, sessionHref, timelineHref, type SessionRoute } from "../route";
import { useActions } from "../shell/actions";
import { Bar } from "../shell/Bar";
import type { Filter } from "../source";
import type { ThreadStore } from "../threadStore";
import type { OutlineTurn, SearchHit, TimelineItem } from "../values";
import { Filters } from "./Filters";
import { Hits } from "./Hits";
import { marksOf } from "./marksOf";
import { MessageList } from "./MessageList";
import { goToItem, goToNextError, goToTurn, stepCall, stepTurn, toggleCall } from "./navigation";
import { Outline } from "./Outline";
import { Player, type Replay } from "./Player";
import { savedPosition, showMatch } from "./scrollTo";
import { SearchBar } from "./SearchBar";
import { SessionHead } from "./SessionHead";
import { CONVERSATION, useConversation, useFiltered, type FilteredItems } from "./useFiltered";
import { useSearch } from "./useSearch";
import { useSearchHighlights } from "./useSearchHighlights";
import { WaterfallView } from "./WaterfallView";

const DENSITY_NAMES: Record<Density, string> = {
  conversation: "only prompts and last answers",
  normal: "everything, details closed",
  everything: "everything, all open",
};

export function SessionRenderer({ route, hash }: { route: SessionRoute; hash: string }) {
  const store = useThreadStore();
  useVersion(store);
  const [drawer, setDrawer] = useState(false);
  const [replay, setReplay] = useState<Replay | null>(null);
  const [filter, setFilter] = useState(NO_FILTER);
  const [query, setQuery] = useState(route.query);
  const [hit, setHit] = useState(takeFollowed);
  const search = useSearch(store, query);
  const [density, setDensity] = useState(() => route.density ?? (hasTarget(route.target) ? "normal" : settings.density));
  const filtered = useFiltered(store, filter);
  const conversation = useConversation(store, density === "conversation");
  useEffect(() => store.expanded.setAll(density === "everything"), [store, density]);
  const main = useRef<HTMLElement>(null);
  useSearchHighlights(main, query);
  useLinkTarget(route, hash, hit);

  // On a phone, the hits are in the drawer.
  const changeQuery = (text: string) => {
    setQuery(text);
    setHit(null);
    const href = sessionHref(store.thread, route.target, text, route.density);
    if (route.timeline) location.hash = href;
    else history.replaceState(history.state, "", href);
    setDrawer(text !== "");
  };
  const changeDensity = (density: Density) => {
    setDensity(density);
    settings.setDensity(density);
    history.replaceState(history.state, "", sessionHref(store.thread, {}, query, density));
  };
  // A call may be hidden in the conversation.
  const reveal = () => density === "conversation" && setDensity("normal");
  const run = (action: Promise<void>) => void action.catch((error: unknown) => store.showNotice(toError(error).message));
  const goToCall = (action: Promise<void>) => {
    reveal();
    run(action);
  };
  const openTurn = (turn: OutlineTurn) => {
    setDrawer(false);
    if (route.timeline) location.hash = sessionHref(store.thread, { turn: turn.index });
    else if (replay) setReplay({ ...replay, until: turn.item + 1 });
    else run(goToItem(store, turn.item, null));
  };
  const openHit = (hit: SearchHit) => {
    setDrawer(false);
    reveal();
    const { session, agent } = store.thread;
    const owner = hit.agent ?? undefined;
    if (owner === agent) {
      setHit(hit);
      run(goToHit(store, hit));
      return;
    }
    followed = hit;
    // In place: Back returns to where the search began.
    location.replace(sessionHref({ session, agent: owner }, { message: hit.key }, query));
  };
  const play = () =>
    setReplay((now) => (now ? { ...now, playing: !now.playing } : { playing: true, until: Math.min(1, store.total) }));
  const stepBranch = (step: number) => {
    const { branches, branch } = store.overview;
    const next = branches[branches.findIndex(({ id }) => id === branch) + step];
    if (next) location.hash = sessionHref({ ...store.thread, branch: next.id });
  };
  let shown: { items: FilteredItems; filter: Filter } | null = null; // null shows all
  if (!replay && !isEmpty(filter)) shown = { items: filtered, filter };
  else if (!replay && density === "conversation") shown = { items: conversation, filter: CONVERSATION };
  const turnInput = useTurnInput((turn) => run(goToTurn(store, turn)));

  const toggleTimeline = () => {
    location.hash = route.timeline ? sessionHref(store.thread) : timelineHref(store.thread);
  };
  const pageKeys = {
    v: toggleTimeline,
    "[": () => stepBranch(-1),
    "]": () => stepBranch(1),
    "/": focusSearch,
    Escape: () => {
      if (query) changeQuery("");
      else if (drawer) setDrawer(false);
      else setReplay(null);
    },
  };
  const messageKeys = {
    ...turnInput.bindings,
    j: () => run(stepTurn(store, 1)),
    k: () => run(stepTurn(store, -1)),
    n: () => goToCall(stepCall(store, 1)),
    p: () => goToCall(stepCall(store, -1)),
    o: () => toggleCall(store),
    Enter: () => toggleCall(store),
    e: () => goToCall(goToNextError(store)),
    t: () => store.expanded.toggleThinking(),
    G: () => run(goToItem(store, store.total - 1, null)),
    " ": play,
  };
  useKeys(route.timeline ? pageKeys : { ...pageKeys, ...messageKeys });

  useActions([
    { name: "Search this session", keys: "/", run: focusSearch },
    { name: route.timeline ? "Show the messages" : "Show the timeline", keys: "v", run: toggleTimeline },
    { name: "Next failed, denied or interrupted call", keys: "e", run: () => goToCall(goToNextError(store)) },
    { name: "Show or hide all thinking", keys: "t", run: () => store.expanded.toggleThinking() },
    ...DENSITIES.map((name) => ({ name: `Show ${DENSITY_NAMES[name]}`, run: () => changeDensity(name) })),
    { name: "Go to the start", keys: "gg", run: () => run(goToTurn(store, 1)) },
    { name: "Go to the end", keys: "G", run: () => run(goToItem(store, store.total - 1, null)) },
    { name: replay?.playing ? "Pause the replay" : "Play the session", keys: "Space", run: play },
  ]);

  return (
    <>
      <Bar page="session">
        <button type="button" className="drawer-button" aria-expanded={drawer} onClick={() => setDrawer(!drawer)}>
          {query ? "Hits" : "Turns"}
        </button>
        <SearchBar query={query} onQuery={changeQuery} search={search} current={hit} onStep={openHit} />
      </Bar>
      <div className={`session${drawer ? " drawer-open" : ""}`}>
        <div className="sidebar">
          {query ? <Hits search={search} onHit={openHit} /> : <Outline onTurn={openTurn} />}
        </div>
        {drawer && <div className="backdrop" onClick={() => setDrawer(false)} />}
        <main ref={main}>
          <SessionHead onPlay={play} playing={replay !== null} timeline={route.timeline} />
          {route.timeline ? (
            <WaterfallView />
          ) : (
            <>
              <Filters filter={filter} onChange={setFilter} filtered={filtered} density={density} onDensity={changeDensity} />
              <MessageList
                rows={shown?.items.indices ?? null}
                filter={shown?.filter ?? null}
                until={replay?.until ?? null}
              />
            </>
          )}
          {turnInput.typed !== null && (
            <p className="turn-input" role="status">
              Go to turn {turnInput.typed || "…"}
            </p>
          )}
        </main>
      </div>
      {replay && <Player replay={replay} onChange={setReplay} />}
    </>
  );
}

const focusSearch = () => document.querySelector<HTMLInputElement>(".bar input[type=search]")?.focus();

/** The hit that was followed to the page of another thread. */
let followed: SearchHit | null = null;

function takeFollowed(): SearchHit | null {
  const hit = followed;
  followed = null;
  return hit;
}

async function goToHit(store: ThreadStore, hit: SearchHit): Promise<void> {
  const item = await store.load(hit.item);
  if (item) await expandTexts(store, item, (text) => text.includes(hit.match));
  await goToItem(store, hit.item, hit.call, true);
  await showMatch(hit.call);
}

/** Expand the texts of an item that match; one that was cut is loaded as a whole. */
async function expandTexts(store: ThreadStore, item: TimelineItem, matches: (text: string) => boolean): Promise<void> {
  const { expanded } = store;
  const isCut = item.parts.some((part) => (part.part === "nodes" ? part.cut.length > 0 : "chars" in part && part.chars !== null));
  const texts = itemTexts(item).filter(({ text }) => matches(text()));
  if (isCut && !texts.length) {
    await store.loadWhole(item.index);
    const whole = store.item(item.index);
    if (whole) texts.push(...itemTexts(whole).filter(({ text }) => matches(text())));
  }
  for (const { part, at } of texts) {
    if (part.part === "thinking") expanded.expand(thinkingKey(item, at), expanded.thinking);
    if (part.part === "nodes") expanded.expand(detailsKey(item, at));
    if (part.part === "compaction") expanded.expand(summaryKey(item, at));
  }
}

/** Scroll to the target of the link, or to the position before a reload. */
function useLinkTarget({ target, thread, query }: SessionRoute, hash: string, hit: SearchHit | null): void {
  const store = useThreadStore();
  const [missing, setMissing] = useState(false);
  useEffect(() => {
    const saved = savedPosition();
    if (saved) {
      store.jumps.to({ index: Math.min(saved.index, store.total - 1), call: null, offset: saved.offset });
      return;
    }
    if (hit) {
      goToHit(store, hit).catch((error: unknown) => store.showNotice(toError(error).message));
      return;
    }
    if (!hasTarget(target)) {
      scrollTo(0, 0);
      return;
    }
    let current = true;
    const arrived = store.source.place(store.thread, target).then(async (place) => {
      if (!current) return;
      if (!place) return setMissing(true);
      if ((place.agent ?? undefined) !== thread.agent) {
        location.replace(sessionHref({ session: thread.session, agent: place.agent ?? undefined }, target, query));
        return;
      }
      const item = query ? await store.load(place.item) : undefined;
      const marks = marksOf(query);
      if (item && marks) await expandTexts(store, item, (text) => text.search(marks) >= 0);
      await goToItem(store, place.item, place.call, true);
      if (query) await showMatch(place.call);
    });
    arrived.catch((error: unknown) => store.showNotice(toError(error).message));
    return () => {
      current = false;
    };
  }, [store, hash]);
  useEffect(() => {
    if (missing) store.showNotice("That message is not in this session. Showing the beginning instead.");
  }, [missing, store]);
}

/** `g` and digits: go to the turn with that number. */
function useTurnInput(go: (turn: number) => void) {
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
  return { typed, bindings: typed === null ? { g: start } : { ...typing, g: start } };
}
