/** A value that is loaded asynchronously. */

import { useEffect, useRef, useState } from "react";
import { toError } from "./toError";

export type AsyncState<T> = { state: "loading" } | { state: "ready"; value: T } | { state: "failed"; error: Error };

/** Load whenever the key or the version changes. If only the version changes, the old value stays until the new one is ready. */
export function useAsync<T>(key: string, load: () => Promise<T>, version = 0): AsyncState<T> {
  const [last, setLast] = useState<{ key: string; result: AsyncState<T> }>({ key, result: { state: "loading" } });
  useEffect(() => {
    let current = true;
    load().then(
      (value) => current && setLast({ key, result: { state: "ready", value } }),
      (error: unknown) => current && setLast({ key, result: { state: "failed", error: toError(error) } }),
    );
    return () => {
      current = false;
    };
    // `load` is not a dependency: `key` identifies it.
  }, [key, version]);
  return last.key === key ? last.result : { state: "loading" };
}

/** A count, which is asked for again until no session is left; meanwhile what is counted so far, or the last that was. */
export function useCount<T extends { pending?: number | undefined }>(key: string, load: () => Promise<T>): AsyncState<T> & { isCurrent: boolean } {
  const [round, setRound] = useState(0);
  const latest = useAsync(key, load, round);
  useEffect(() => {
    if (latest.state === "ready" && latest.value.pending) setRound((last) => last + 1);
  }, [latest]);
  return useLastReady(latest);
}

/** The same, but the last value stays while another is loaded, so that the page does not jump; then it is not current. */
export function useLastReady<T>(loaded: AsyncState<T>): AsyncState<T> & { isCurrent: boolean } {
  const last = useRef(loaded);
  if (loaded.state !== "loading") last.current = loaded;
  return { ...last.current, isCurrent: loaded.state !== "loading" };
}
