/** What the requests of a message had to write to the cache again, and why: one line each. */

import { capitalized } from "../kit/format";
import { PlainText } from "../kit/PlainText";

export const CacheBreaks = ({ breaks }: { breaks: readonly string[] }) =>
  breaks.map((text, at) => (
    <p key={at} className="cache-break">
      <PlainText text={capitalized(text)} />
    </p>
  ));
