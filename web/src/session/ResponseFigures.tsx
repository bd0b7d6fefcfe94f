/** By how much the responses in an item made the context grow, and their model if it is another than before. */

import { exact, model, tokens } from "../kit/format";
import { PlainText } from "../kit/PlainText";
import type { TimelineItem } from "../data/values";

export function ResponseFigures({ item: { new_model: name, context, grew } }: { item: TimelineItem }) {
  if (!name && !grew) return null;
  return (
    <p className="response-figures">
      {name && <PlainText className="new-model" title={name} text={model(name)} />}
      {grew !== null && grew !== 0 && (
        <span className="grew" title={`The context ${grew > 0 ? "grew" : "shrank"} by ${exact(Math.abs(grew))}${context === null ? "" : ` to ${exact(context)}`} tokens`}>
          {grew > 0 ? "+" : "−"}
          {tokens(Math.abs(grew))}
        </span>
      )}
    </p>
  );
}
