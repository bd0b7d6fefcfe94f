/** The model and the tokens of the responses in an item; the last item of a turn has the turn's own. */

import { Count } from "../kit/Figure";
import { model } from "../kit/format";
import { PlainText, visible } from "../kit/PlainText";
import type { TimelineItem } from "../values";

export function ResponseFigures({ item: { figures, responses } }: { item: TimelineItem }) {
  const name = responses.find((response) => response.model)?.model;
  const tokens = responses.reduce((sum, response) => sum + response.figures.tokens, 0);
  if ((figures !== null && figures.tokens > 0) || (!name && !tokens)) return null;
  return (
    <p className="response-figures">
      {name && (
        <span title={visible(name)}>
          <PlainText text={model(name)} />
        </span>
      )}
      {tokens > 0 && (
        <span>
          <Count value={tokens} unit="tokens" /> tokens
        </span>
      )}
    </p>
  );
}
