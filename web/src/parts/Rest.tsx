/** The way to what was cut from a passage. */

import { useState } from "react";
import { useReading } from "../contexts";
import { exact } from "../kit/words";
import type { Passage } from "../values";

export function Rest({ chars, passage }: { chars: number | null; passage: Passage }) {
  const reading = useReading();
  const [asked, setAsked] = useState(false);
  if (chars === null) return null;
  const ask = () => {
    setAsked(true);
    reading.loadWhole(passage.index).catch(() => setAsked(false));
  };
  return (
    <button type="button" className="more" disabled={asked} onClick={ask}>
      {asked ? "fetching…" : `all ${exact(chars)} characters`}
    </button>
  );
}
