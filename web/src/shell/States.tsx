/** What stands where a page would: waiting, nothing, an error, an opening file. */

import type { ReactNode } from "react";
import { Missing } from "../source";
import { bytes } from "../kit/words";
import type { Opening } from "../values";

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="state-page">
      <h1>{title}</h1>
      {children}
    </div>
  );
}

export function Failed({ error, again }: { error: Error; again?: () => void }) {
  const missing = error instanceof Missing;
  return (
    <Empty title={missing ? "Not here" : "This did not work"}>
      <p>{error.message}</p>
      <p>
        {again && (
          <button type="button" onClick={again}>
            try again
          </button>
        )}{" "}
        <a href="#/">all sessions</a>
      </p>
    </Empty>
  );
}

/** Shown only to those who wait: quick things are there before it is. */
export function Waiting({ progress }: { progress?: Opening | null }) {
  return (
    <div className="state-page late" role="status">
      {progress ? (
        <>
          <h1>Opening</h1>
          <progress value={progress.read} max={progress.size || 1} aria-label="read so far" />
          <p className="num">
            {bytes(progress.read)} of {bytes(progress.size)}. The next time it opens at once.
          </p>
        </>
      ) : (
        <p className="faint">opening…</p>
      )}
    </div>
  );
}
