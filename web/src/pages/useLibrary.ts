/** The list of sessions, kept up to date. */

import { useEffect, useState } from "react";
import { useSource } from "../contexts";
import { toError } from "../kit/toError";
import type { Library, LibraryNow, LibraryRow } from "../data/values";

/** The list of sessions; `onGrowth` is called if there are new texts. */
export function useLibrary(onGrowth: () => void) {
  const source = useSource();
  const [library, setLibrary] = useState<Library | null>(null);
  const [now, setNow] = useState<LibraryNow | null>(null);
  const [failed, setFailed] = useState<Error | null>(null);
  const [attempt, setAttempt] = useState(0);
  const change = (key: string, row: Partial<LibraryRow>) =>
    setLibrary((before) => before && { ...before, sessions: before.sessions.map((old) => (old.key === key ? { ...old, ...row } : old)) });
  useEffect(() => {
    let current = true;
    const load = () =>
      source.library().then(
        (value) => {
          if (!current) return;
          setLibrary(value);
          setFailed(null);
        },
        (error: unknown) => current && setFailed(toError(error)),
      );
    void load();
    source.now().then(
      (value) => current && setNow(value),
      () => undefined, // an older server; the list itself says what is wrong
    );
    const stop = source.watchLibrary({
      changed: () => {
        void load();
        onGrowth();
      },
      grown: onGrowth,
      row: (row) => change(row.key, row),
      now: setNow,
    });
    return () => {
      current = false;
      stop();
    };
  }, [source, attempt, onGrowth]);
  /** Star a session, or take the star away. */
  const star = ({ key, starred }: LibraryRow) => {
    change(key, { starred: !starred });
    source.annotate(key, { starred: !starred }).catch((error: unknown) => {
      change(key, { starred });
      setFailed(toError(error));
    });
  };
  return { library, now, failed, retry: () => setAttempt(attempt + 1), star };
}
