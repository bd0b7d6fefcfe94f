/** A session's page: opened, with progress where that takes long, then read. */

import { useEffect, useMemo, useRef, useState } from "react";
import { ReadingContext, useSource } from "../contexts";
import { toError } from "../kit/useAsked";
import { Reading } from "../reading";
import type { SessionRoute } from "../route";
import { Bar } from "../shell/Bar";
import { Failed, Waiting } from "../shell/States";
import type { Grown, Opening } from "../values";
import { SessionRenderer } from "./SessionRenderer";

/** The figures in the head need not be newer than this. */
const REFRESH = 2000;

export function SessionPage({ route, hash }: { route: SessionRoute; hash: string }) {
  const source = useSource();
  const thread = useMemo(() => route.thread, []);
  const [reading, setReading] = useState<Reading | null>(null);
  const [progress, setProgress] = useState<Opening | null>(null);
  const [failed, setFailed] = useState<Error | null>(null);
  const [opened, setOpened] = useState(0);
  const latest = useRef<Reading | null>(null);

  useEffect(() => {
    let current = true;
    let timer = 0;
    let early: Grown | null = null;
    const waiting = new Set<string>();
    const refresh = (agents: string[]) => {
      for (const id of agents) waiting.add(id);
      timer ||= window.setTimeout(() => {
        timer = 0;
        const ids = [...waiting];
        waiting.clear();
        latest.current?.refresh(ids).catch((error: unknown) => setFailed(toError(error)));
      }, REFRESH);
    };
    source.overview(thread).then(
      (overview) => {
        if (!current) return;
        latest.current = new Reading(source, thread, overview);
        if (early) latest.current.grow(early);
        setReading(latest.current);
        document.title = `${overview.title} · reread`;
      },
      (error: unknown) => current && setFailed(toError(error)),
    );
    const unwatch = source.watch(thread, {
      opening: setProgress,
      grown: (grown) => {
        if (!latest.current) {
          early = grown;
          return;
        }
        latest.current.grow(grown);
        refresh(grown.agents);
      },
    });
    return () => {
      current = false;
      clearTimeout(timer);
      unwatch();
    };
  }, [source, thread, opened]);

  if (failed && !reading) {
    return (
      <>
        <Bar page="session" />
        <main>
          <Failed
            error={failed}
            again={() => {
              setFailed(null);
              setOpened(opened + 1);
            }}
          />
        </main>
      </>
    );
  }
  if (!reading) {
    return (
      <>
        <Bar page="session" />
        <main>
          <Waiting progress={progress} />
        </main>
      </>
    );
  }
  return (
    <ReadingContext value={reading}>
      <SessionRenderer route={route} hash={hash} />
    </ReadingContext>
  );
}
