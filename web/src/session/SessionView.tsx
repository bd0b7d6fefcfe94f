/** The page of an open session: outline, header, messages, search, filters, replay and keyboard shortcuts. */

import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { PanelContext, useThreadStore } from "../contexts";
import { isEmpty, NO_FILTER } from "../search/filter";
import { itemTexts } from "../search/itemTexts";
import { useKept } from "../kit/kept";
import { DENSITIES, settings, type Density } from "../kit/settings";
import { nextFrame } from "../kit/nextFrame";
import { useVersion } from "../kit/store";
import { toError } from "../kit/toError";
import { useAsync } from "../kit/useAsync";
import { useKeys } from "../kit/useKeys";
import { detailsKey, summaryKey, thinkingKey } from "../parts/keys";
import { hasTarget, sessionHref, timelineHref, withPanel, type SessionRoute } from "../route";
import { useActions } from "../shell/actions";
import { Bar } from "../shell/Bar";
import { useShortcuts } from "../shell/shortcuts";
import type { Filter } from "../data/source";
import type { ThreadStore } from "../data/threadStore";
import type { OutlineTurn, SearchHit, TimelineItem } from "../data/values";
import { PlainText } from "../kit/PlainText";
import { useRunning } from "../data/running";
import { Filters } from "./Filters";
import { Hits } from "./Hits";
import { marksOf } from "./marksOf";
import { MessageList } from "./MessageList";
import { goToItem, goToNextError, goToTurn, returnTo, stepCall, stepTurn, toggleCall } from "./navigation";
import { Outline } from "./Outline";
import { COVERING, usePanel } from "./PanelLink";
import { Player, type Replay } from "./Player";
import { savedPosition } from "./scrollPosition";
import { SearchBar } from "./SearchBar";
import { SessionHead } from "./SessionHead";
import { MESSAGES, SharePreview } from "./SharePreview";
import { SidePanel } from "./SidePanel";
import { CONVERSATION, useConversation, useFiltered, type FilteredItems } from "./useFiltered";
import { useSearch } from "./useSearch";
import { useSearchHighlights } from "./useSearchHighlights";
import { WaterfallView } from "./WaterfallView";

/** Usage is loaded again after this many new items. */
const USAGE_STEP = 20;

const DENSITY_NAMES: Record<Density, string> = {
  conversation: "only prompts and last answers",
  normal: "everything, details closed",
  everything: "everything, all open",
};

export function SessionView({ route, hash }: { route: SessionRoute; hash: string }) {
  const store = useThreadStore();
  useVersion(store);
  const [drawer, setDrawer] = useState(false);
  const [replay, setReplay] = useState<Replay | null>(null);
  const [filter, setFilter] = useKept("filter", NO_FILTER);
  const [query, setQuery] = useState(route.query);
  const [hit, setHit] = useState(takeFollowed);
  const search = useSearch(store, query);
  const typed = useRef("");
  const [density, setDensity] = useState(() => route.density ?? (hasTarget(route.target) ? "normal" : settings.density));
  const filtered = useFiltered(store, filter);
  const conversation = useConversation(store, density === "conversation");
  useEffect(() => store.expanded.setAll(density === "everything"), [store, density]);
  const main = useRef<HTMLElement>(null);
  useSearchHighlights(main, search);
  useLinkTarget(route, withPanel(hash, null), hit);
  const { panel } = route;
  const showPanel = usePanel();
  useStill(store, panel !== null);
  const loaded = useAsync("usage", () => nextFrame().then(() => store.source.usage(store.thread)), Math.floor(store.total / USAGE_STEP));
  const usage = loaded.state === "ready" ? loaded.value : null;

  // On a phone, the hits are in the drawer.
  const changeQuery = (text: string) => {
    setQuery(text);
    setHit(null);
    typed.current = text;
    const href = withPanel(sessionHref(store.thread, route.target, text, route.density), panel);
    if (route.timeline) location.hash = href;
    else history.replaceState(history.state, "", href);
    setDrawer(text !== "");
  };
  const changeDensity = (density: Density) => {
    setDensity(density);
    settings.setDensity(density);
    history.replaceState(history.state, "", withPanel(sessionHref(store.thread, {}, query, density), panel));
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
    else run(goToItem(store, { index: turn.item, call: null }));
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
  useEffect(() => {
    const first = search.hits.find(({ agent }) => (agent ?? undefined) === store.thread.agent);
    if (!first || !typed.current || search.query !== typed.current || route.timeline || replay) return;
    typed.current = ""; // once: more hits may come, and whoever has scrolled on stays there
    reveal();
    setHit(first);
    run(goToHit(store, first));
  });
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
    location.hash = withPanel(route.timeline ? sessionHref(store.thread) : timelineHref(store.thread), panel);
  };
  useActions(DENSITIES.map((name) => ({ name: `Show ${DENSITY_NAMES[name]}`, also: "density detail compact expand collapse", run: () => changeDensity(name) })));
  useShortcuts({
    searchSession: focusSearch,
    [route.timeline ? "showMessages" : "showTimeline"]: toggleTimeline,
    previousBranch: () => stepBranch(-1),
    nextBranch: () => stepBranch(1),
    close: () => {
      if (query) changeQuery("");
      else if (drawer) setDrawer(false);
      else if (panel) showPanel(null);
      else setReplay(null);
    },
    ...(!route.timeline && {
      nextTurn: () => run(stepTurn(store, 1)),
      previousTurn: () => run(stepTurn(store, -1)),
      nextCall: () => goToCall(stepCall(store, 1)),
      previousCall: () => goToCall(stepCall(store, -1)),
      toggleCall: () => toggleCall(store),
      nextError: () => goToCall(goToNextError(store)),
      toggleThinking: () => store.expanded.toggleThinking(),
      typeTurn: turnInput.start,
      goToStart: () => run(goToTurn(store, 1)),
      goToEnd: () => run(goToItem(store, { index: store.total - 1, call: null })),
      [replay?.playing ? "pause" : "play"]: play,
    }),
  });

  return (
    <PanelContext value={panel}>
      <Bar page="session">
        <button type="button" className="drawer-button" aria-expanded={drawer} onClick={() => setDrawer(!drawer)}>
          {query ? "Hits" : "Turns"}
        </button>
        <SearchBar query={query} onQuery={changeQuery} search={search} current={hit} onStep={openHit} />
      </Bar>
      <div className={`session${drawer ? " drawer-open" : ""}${panel ? " with-panel" : ""}`}>
        <div className="sidebar">
          {query ? <Hits search={search} current={hit} onHit={openHit} /> : <Outline onTurn={openTurn} />}
        </div>
        {drawer && <div className="backdrop" onClick={() => setDrawer(false)} />}
        <main ref={main}>
          <SessionHead onPlay={play} playing={replay !== null} timeline={route.timeline} usage={usage} />
          {panel?.tab === "share" && panel.chosen !== MESSAGES && !matchMedia(COVERING).matches ? (
            <SharePreview session={store.thread.session} />
          ) : route.timeline ? (
            <WaterfallView />
          ) : (
            <>
              <Filters filter={filter} onChange={setFilter} filtered={filtered} density={density} onDensity={changeDensity} />
              <MessageList
                rows={shown?.items.indices ?? null}
                filter={shown?.filter ?? null}
                until={replay?.until ?? null}
              />
              <Waits />
            </>
          )}
          {turnInput.typed !== null && (
            <p className="turn-input" role="status">
              Go to turn {turnInput.typed || "…"}
            </p>
          )}
        </main>
        {panel && <SidePanel panel={panel} usage={usage} />}
      </div>
      {replay && <Player replay={replay} onChange={setReplay} />}
    </PanelContext>
  );
}

/** What the session waits for, where one reads on. */
function Waits() {
  const { thread } = useThreadStore();
  const now = useRunning()?.sessions.find(({ key }) => key === thread.session);
  if (now?.state !== "waiting" || thread.agent !== undefined) return null;
  return (
    <p className="waits" role="status">
      <strong>● Waits for you</strong> <PlainText text={now.activity} />
    </p>
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

/** The beginning of the line that a hit is in, up to the end of the line or of the match. */
const lineOf = ({ before, match }: SearchHit): string => `${before.split("\n").at(-1)}${match.split("\n")[0]}`;

async function goToHit(store: ThreadStore, hit: SearchHit): Promise<void> {
  const ticket = store.jumps.ask();
  const item = await store.load(hit.item);
  if (item) await expandTexts(store, item, (text) => text.includes(hit.match));
  await goToItem(store, { index: hit.item, call: hit.call, match: lineOf(hit) }, ticket, true);
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
    const run = (going: Promise<void>) => void going.catch((error: unknown) => store.showNotice(toError(error).message));
    const saved = savedPosition();
    if (saved) return run(returnTo(store, saved));
    if (hit) return run(goToHit(store, hit));
    if (!hasTarget(target)) {
      store.jumps.cancel();
      scrollTo(0, 0);
      return;
    }
    let current = true;
    const ticket = store.jumps.ask();
    const follow = async () => {
      const place = await store.source.place(store.thread, target);
      if (!current) return;
      if (!place) return setMissing(true);
      if ((place.agent ?? undefined) !== thread.agent) {
        location.replace(sessionHref({ session: thread.session, agent: place.agent ?? undefined }, target, query));
        return;
      }
      const item = query ? await store.load(place.item) : undefined;
      const marks = marksOf(query);
      if (item && marks) await expandTexts(store, item, (text) => text.search(marks) >= 0);
      await goToItem(store, { index: place.item, call: place.call, match: query ? "" : undefined }, ticket, true);
    };
    run(follow());
    return () => {
      current = false;
    };
  }, [store, hash]);
  useEffect(() => {
    if (missing) store.showNotice("That message is not in this session. Showing the beginning instead.");
  }, [missing, store]);
}

/** Keep the message at the top of the screen in its place when the panel opens or closes and all lines break anew. */
function useStill(store: ThreadStore, open: boolean): void {
  const before = useRef(open);
  useLayoutEffect(() => {
    const saved = savedPosition();
    if (before.current !== open && saved && scrollY > 0) void returnTo(store, saved);
    before.current = open;
  }, [open]);
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
  useKeys(typed === null ? {} : Object.fromEntries(digits.map((digit) => [digit, () => setTyped(typed + digit)])));
  const start = () => {
    if (typed === "") go(1);
    setTyped(typed === null ? "" : null);
  };
  return { typed, start };
}
