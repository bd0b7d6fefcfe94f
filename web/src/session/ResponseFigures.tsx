/** The model and the tokens of the responses in an item; the last item of a turn has the turn's own. */

import { Count } from "../kit/Figure";
import { model } from "../kit/format";
import { PlainText } from "../kit/PlainText";
import type { TimelineItem } from "../data/values";

export function ResponseFigures({ item: { figures, responses } }: { item: TimelineItem }) {
  const name = responses.find((response) => response.model)?.model;
  const tokens = responses.reduce((sum, response) => sum + response.figures.tokens, 0);
  if ((figures !== null && figures.tokens > 0) || (!name && !tokens)) return null;
  return (
    <p className="response-figures">
      {name && <PlainText title={name} text={model(name)} />}
      {tokens > 0 && (
        <span>
          <Count value={tokens} unit="tokens" /> tokens
        </span>
      )}
    </p>
  );
}
