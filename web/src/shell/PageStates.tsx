/** What a page shows while it loads, if it is empty, and if it cannot be loaded. */

import { useEffect, useRef, type ReactNode } from "react";
import { useSource } from "../contexts";
import { size } from "../kit/format";
import { Store, useSelector } from "../kit/store";
import { NotFound, type Connection } from "../data/source";
import type { OpeningProgress } from "../data/values";

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="state-page">
      <h1>{title}</h1>
      {children}
    </div>
  );
}

/** The connection of a page that needs none. */
const CONNECTED: Connection = Object.assign(new Store(), { fault: null });

/** If the server was gone, tries again when it is back; the notice about the connection says why. */
export function LoadError({ error, onRetry }: { error: Error; onRetry(): void }) {
  const { connection } = useSource();
  const fault = useSelector(connection ?? CONNECTED, ({ fault }) => fault);
  const wasGone = useRef(false);
  useEffect(() => {
    if (!fault && wasGone.current) onRetry();
    wasGone.current = fault !== null;
  }, [fault]);
  return (
    <Empty title={error instanceof NotFound ? "Not found" : "Couldn’t load this"}>
      {!fault && <p>{error.message}</p>}
      <p>
        <button type="button" onClick={onRetry}>
          Try again
        </button>{" "}
        <a href="#/">All sessions</a>
      </p>
    </Empty>
  );
}

/** Appears with a delay, so that it does not flash if loading is quick. */
export function Loading({ progress }: { progress?: OpeningProgress | null }) {
  return (
    <div className="state-page delayed" role="status">
      {progress ? (
        <>
          <h1>Opening…</h1>
          <progress value={progress.read} max={progress.size || 1} aria-label="Progress" />
          <p className="num">
            {size(progress.read)} of {size(progress.size)} read.
          </p>
        </>
      ) : (
        <p className="muted">Loading…</p>
      )}
    </div>
  );
}
