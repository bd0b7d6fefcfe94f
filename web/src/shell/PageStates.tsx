/** What a page shows while it loads, if it is empty, and if it cannot be loaded. */

import type { ReactNode } from "react";
import { size } from "../kit/format";
import { NotFound } from "../source";
import type { OpeningProgress } from "../values";

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="state-page">
      <h1>{title}</h1>
      {children}
    </div>
  );
}

export function LoadError({ error, onRetry }: { error: Error; onRetry(): void }) {
  return (
    <Empty title={error instanceof NotFound ? "Not found" : "Couldn’t load this"}>
      <p>{error.message}</p>
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
