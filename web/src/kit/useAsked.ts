/** A value that has to be asked for. */

import { useEffect, useState } from "react";

export type Asked<T> = { state: "waiting" } | { state: "here"; value: T } | { state: "failed"; error: Error };

export const toError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

/** Ask whenever the key or the version changes; where only the version does, the last value stays until the next is here. */
export function useAsked<T>(key: string, ask: () => Promise<T>, version = 0): Asked<T> {
  const [answer, setAnswer] = useState<{ key: string; asked: Asked<T> }>({ key, asked: { state: "waiting" } });
  useEffect(() => {
    let current = true;
    ask().then(
      (value) => current && setAnswer({ key, asked: { state: "here", value } }),
      (error: unknown) => current && setAnswer({ key, asked: { state: "failed", error: toError(error) } }),
    );
    return () => {
      current = false;
    };
    // `ask` is what `key` stands for.
  }, [key, version]);
  return answer.key === key ? answer.asked : { state: "waiting" };
}
