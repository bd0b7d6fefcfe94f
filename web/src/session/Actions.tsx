/** Actions on messages and calls: link, copy, show the recorded lines. */

import { useThreadStore } from "../contexts";
import { useCopy } from "../kit/CopyTextButton";
import { useKept } from "../kit/kept";
import { sessionHref } from "../route";
import type { Target } from "../data/source";
import { RawView } from "./RawView";

export function CallActions({ target }: { target: Target }) {
  const { can } = useThreadStore().source;
  const [raw, setRaw] = useKept(`raw ${target.call}`, false);
  if (!can.link && !can.raw) return null;
  return (
    <>
      <span className="actions">
        <LinkButton target={target} title="Copy the address of this call" />
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
  const [result, copy] = useCopy();
  return (
    <button type="button" className="link-button" title="Copy as Markdown" onClick={() => copy(() => source.markdown(thread, target))}>
      <span aria-live="polite">{result ?? "Copy"}</span>
    </button>
  );
}

/** A link to a message or call, which also copies its address. */
export function LinkButton({ target, title }: { target: Target; title: string }) {
  const { source, thread } = useThreadStore();
  const [result, copy] = useCopy();
  if (!source.can.link) return null;
  const href = sessionHref(thread, target);
  const address = () => {
    const url = new URL(href, location.href);
    url.search = ""; // may hold the server's token
    return Promise.resolve(url.href);
  };
  return (
    <a className="link-button" href={href} title={title} onClick={() => copy(address)}>
      <span aria-live="polite">{result ?? "Link"}</span>
    </a>
  );
}
