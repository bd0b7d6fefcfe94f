/** What one can do with a message or a call: link to it, copy it, see the lines it was made of. */

import { useState } from "react";
import { useReading } from "../contexts";
import type { Target } from "../source";
import { RawView } from "./RawView";

export function Actions({ href, target, copies = false }: { href: string; target: Target; copies?: boolean }) {
  const { source } = useReading();
  const [raw, setRaw] = useState(false);
  return (
    <>
      <span className="actions">
        <a className="quiet" href={href} title="a link to this">
          link
        </a>
        {copies && <CopyButton target={target} />}
        {source.can.raw && (
          <button type="button" className="quiet" aria-expanded={raw} onClick={() => setRaw(!raw)}>
            raw
          </button>
        )}
      </span>
      {raw && <RawView target={target} />}
    </>
  );
}

export function CopyButton({ target, label = "copy" }: { target: Target; label?: string }) {
  const { source, thread } = useReading();
  const [said, setSaid] = useState<string | null>(null);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(await source.markdown(thread, target));
      setSaid("copied");
    } catch (error) {
      setSaid(error instanceof Error ? error.message : "could not be copied");
    }
    setTimeout(() => setSaid(null), 2000);
  };
  return (
    <button type="button" className="quiet" title="copy as Markdown" onClick={() => void copy()}>
      <span aria-live="polite">{said ?? label}</span>
    </button>
  );
}
