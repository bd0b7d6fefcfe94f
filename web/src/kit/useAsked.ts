/** A value that has to be asked for. */

import { useEffect, useState } from "react";

export type Asked<T> = { state: "waiting" } | { state: "here"; value: T } | { state: "failed"; error: Error };

export const toError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

/** Ask again whenever the key changes; the last value stays until the next is here, if it was asked with the same base. */
export function useAsked<T>(key: string, ask: () => Promise<T>): Asked<T> {
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
  }, [key]);
  return answer.key === key ? answer.asked : { state: "waiting" };
}
