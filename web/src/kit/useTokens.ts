/** The syntax colours of texts, once the worker has found them. */

import { useEffect, useMemo, useState } from "react";
import { highlightLater, highlightNow, type HighlightedLines } from "./offThread";

/** Longer texts, taken together, are not highlighted; nor are more of them than are kept. */
const LONGEST = 120_000;
const MOST = 100;

type Highlighted = (HighlightedLines | null | undefined)[];

/** The tokens of each text, which must be the same array each time; null until all of them are known. */
export function useTokens(texts: string[], language: string | null): Highlighted | null {
  const wanted = language !== null && texts.length <= MOST && texts.reduce((sum, text) => sum + text.length, 0) <= LONGEST;
  const known = useMemo(() => (wanted ? texts.map((text) => highlightNow(text, language)) : null), [texts, language, wanted]);
  const complete = known === null || !known.includes(undefined);
  const [found, setFound] = useState<{ texts: string[]; lines: Highlighted } | null>(null);
  useEffect(() => {
    if (complete || language === null) return;
    let current = true;
    const lines = texts.map((text, at) => (known[at] === undefined ? highlightLater(text, language) : known[at]));
    void Promise.all(lines).then((lines) => current && setFound({ texts, lines }));
    return () => {
      current = false;
    };
  }, [texts, language, known, complete]);
  if (found && found.texts === texts) return found.lines;
  return complete ? known : null;
}
