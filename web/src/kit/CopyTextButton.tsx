/** Copies a text to the clipboard and says so. */

import { useState } from "react";
import { toError } from "./toError";

/** How long the result is shown, in milliseconds. */
const SHOWN = 2000;

interface Props {
  text(): string;
  /** Whether only the beginning of the text is loaded. */
  partly?: boolean;
}

export function CopyTextButton({ text, partly = false }: Props) {
  const [result, copy] = useCopy();
  return (
    <button
      type="button"
      className="link-button copy-text"
      title={partly ? "Copy what is loaded" : "Copy"}
      onClick={() => copy(() => Promise.resolve(text()))}
    >
      <span aria-live="polite">{result ?? "Copy"}</span>
    </button>
  );
}

/** What became of the last copy, for a while, and a function that copies. */
export function useCopy(): [result: string | null, copy: (text: () => Promise<string>) => void] {
  const [result, setResult] = useState<string | null>(null);
  const copy = (text: () => Promise<string>) => {
    text()
      .then((copied) => navigator.clipboard.writeText(copied))
      .then(
        () => setResult("Copied"),
        (error: unknown) => setResult(toError(error).message),
      )
      .finally(() => setTimeout(() => setResult(null), SHOWN));
  };
  return [result, copy];
}
