/** Text of any length: its beginning, and more of it on request. */

import { useState } from "react";
import { exact } from "./format";
import { PlainText } from "./PlainText";

const FIRST = 20_000;

export function LongText({ text, first = FIRST }: { text: string; first?: number }) {
  const [shown, setShown] = useState(first);
  if (text.length <= shown) return text && <PlainText text={text} />;
  return (
    <>
      <PlainText text={text.slice(0, shown)} />
      <button type="button" className="show-more" onClick={() => setShown(shown + Math.max(first, FIRST))}>
        Show more ({exact(text.length - shown)} characters left)
      </button>
    </>
  );
}
