/** The page of a session: opens it, shows the progress, and keeps it up to date. */

import { useEffect, useMemo, useRef, useState } from "react";
import { MessageContext, useSource } from "../contexts";
import { kept } from "../kit/kept";
import { visible } from "../kit/PlainText";
import { setPageTitle } from "../kit/tabTitle";
import { toError } from "../kit/toError";
import { hasTarget, type SessionRoute } from "../route";
import { Bar } from "../shell/Bar";
import { LoadError, Loading } from "../shell/PageStates";
import { NotFound } from "../data/source";
import { ThreadProvider } from "./ThreadProvider";
import type { ExpandedState } from "../data/expanded";
import { ThreadStore } from "../data/threadStore";
import type { OpeningProgress, TimelineUpdate } from "../data/values";
import { MessageRow } from "./MessageRow";
import { savedPosition } from "./scrollPosition";
import { SessionView } from "./SessionView";

/** The overview of a growing session is loaded at most this often, in milliseconds. */
const REFRESH = 2000;

/** The name under which Back finds what was expanded. */
const EXPANDED = "expanded";

export function SessionPage({ route, hash }: { route: SessionRoute; hash: string }) {
  const source = useSource();
  const thread = useMemo(() => route.thread, []);
  const [store, setStore] = useState<ThreadStore | null>(null);
  const [progress, setProgress] = useState<OpeningProgress | null>(null);
  const [failed, setFailed] = useState<Error | null>(null);
  const [attempt, setAttempt] = useState(0);
  const latest = useRef<ThreadStore | null>(null);

  useEffect(() => {
    let current = true;
    let timer = 0;
    let opened: TimelineUpdate | null = null;
    let early: TimelineUpdate | null = null;
    let stopKeeping = () => {};
    const changedAgents = new Set<string>();
    const refresh = (agents: string[]) => {
      for (const id of agents) changedAgents.add(id);
      timer ||= window.setTimeout(() => {
        timer = 0;
        const ids = [...changedAgents];
        changedAgents.clear();
        latest.current?.refresh(ids).catch((error: unknown) => setFailed(toError(error)));
      }, REFRESH);
    };
    const catchUp = (store: ThreadStore, state: TimelineUpdate) => {
      if (!store.isBehind(state)) return;
      store.update({ ...state, first: 0 });
      refresh([]);
    };
    ThreadStore.open(source, thread, savedPosition()?.index ?? (hasTarget(route.target) ? null : 0)).then(
      (store) => {
        if (!current) return;
        latest.current = store;
        const expanded = kept.get(EXPANDED) as ExpandedState | undefined;
        if (expanded) store.expanded.restore(expanded);
        stopKeeping = store.expanded.subscribe(() => kept.set(EXPANDED, store.expanded.state));
        if (opened) catchUp(store, opened);
        if (early) store.update(early);
        setStore(store);
        setPageTitle(`${visible(store.overview.title)} · reread`);
      },
      (error: unknown) => {
        if (!current) return;
        setFailed(toError(error));
        if (error instanceof NotFound) stop(); // its stream would be asked for again and again
      },
    );
    const stop = source.watchSession(thread, {
      opening: setProgress,
      opened: (state) => {
        if (latest.current) catchUp(latest.current, state);
        else opened = state;
      },
      update: (update) => {
        if (!latest.current) {
          early = update;
          return;
        }
        latest.current.update(update);
        refresh(update.agents);
      },
    });
    return () => {
      current = false;
      clearTimeout(timer);
      stopKeeping();
      stop();
    };
  }, [source, thread, attempt]);

  if (store) {
    return (
      <ThreadProvider store={store}>
        <MessageContext value={MessageRow}>
          <SessionView route={route} hash={hash} />
        </MessageContext>
      </ThreadProvider>
    );
  }
  const retry = () => {
    setFailed(null);
    setAttempt(attempt + 1);
  };
  return (
    <>
      <Bar page="session" />
      <main>{failed ? <LoadError error={failed} onRetry={retry} /> : <Loading progress={progress} />}</main>
    </>
  );
}
