/** Actions on messages and calls: link, copy, show the recorded lines. */

import { useState } from "react";
import { useThreadStore } from "../contexts";
import { toError } from "../kit/toError";
import type { Target } from "../source";
import { RawView } from "./RawView";

export function CallActions({ href, target }: { href: string; target: Target }) {
  const [raw, setRaw] = useState(false);
  return (
    <>
      <span className="actions">
        <a className="link-button" href={href} title="Link to this call">
          Link
        </a>
        <RawButton open={raw} onToggle={() => setRaw(!raw)} />
      </span>
      {raw && <RawView target={target} />}
    </>
  );
}

export function RawButton({ open, onToggle }: { open: boolean; onToggle(): void }) {
  const { source } = useThreadStore();
  if (!source.can.raw) return null;
  return (
    <button type="button" className="link-button" aria-expanded={open} title="Show the recorded lines" onClick={onToggle}>
      Raw
    </button>
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
