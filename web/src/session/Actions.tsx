/** Actions on a call, and the button that copies a message. */

import { useState } from "react";
import { useThreadStore } from "../contexts";
import { toError } from "../kit/toError";
import type { Target } from "../source";
import { RawView } from "./RawView";

export function Actions({ href, target }: { href: string; target: Target }) {
  const { source } = useThreadStore();
  const [raw, setRaw] = useState(false);
  return (
    <>
      <span className="actions">
        <a className="link-button" href={href} title="Link to this call">
          Link
        </a>
        {source.can.raw && (
          <button
            type="button"
            className="link-button"
            aria-expanded={raw}
            title="Show the recorded lines"
            onClick={() => setRaw(!raw)}
          >
            Raw
          </button>
        )}
      </span>
      {raw && <RawView target={target} />}
    </>
  );
}

export function CopyButton({ target }: { target: Target }) {
  const { source, thread } = useThreadStore();
  const [result, setResult] = useState<string | null>(null);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(await source.markdown(thread, target));
      setResult("Copied");
    } catch (error) {
      setResult(toError(error).message);
    }
    setTimeout(() => setResult(null), 2000);
  };
  return (
    <button type="button" className="link-button" title="Copy as Markdown" onClick={() => void copy()}>
      <span aria-live="polite">{result ?? "Copy"}</span>
    </button>
  );
}
