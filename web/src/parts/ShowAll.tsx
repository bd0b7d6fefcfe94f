/** A button that loads the rest of a text that was cut. */

import { useState } from "react";
import { useThreadStore } from "../contexts";
import { exact } from "../kit/format";
import type { TimelineItem } from "../data/values";

export function ShowAll({ chars, item }: { chars: number | null; item: TimelineItem }) {
  const store = useThreadStore();
  const [loading, setLoading] = useState(false);
  if (chars === null) return null;
  const load = () => {
    setLoading(true);
    store.loadWhole(item.index).catch(() => setLoading(false));
  };
  return (
    <button type="button" className="show-more" disabled={loading} onClick={load}>
      {loading ? "Loading…" : `Show all ${exact(chars)} characters`}
    </button>
  );
}
