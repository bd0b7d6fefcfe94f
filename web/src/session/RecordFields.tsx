/** What is recorded of an item besides its parts: the model and tokens of each response, and all other fields. */

import { TokensAndCost } from "../kit/Figure";
import { PlainText } from "../kit/PlainText";
import { NodesBlock } from "../parts/NodesBlock";
import type { ResponseInfo, TimelineItem } from "../data/values";

export const hasFields = (item: TimelineItem): boolean => item.fields !== null || item.responses.length > 0;

export function RecordFields({ item }: { item: TimelineItem }) {
  return (
    <div className="record-fields">
      {item.responses.map((response) => (
        <Response key={response.id} response={response} />
      ))}
      {item.fields && <NodesBlock part={item.fields} item={item} at={item.parts.length} />}
    </div>
  );
}

function Response({ response }: { response: ResponseInfo }) {
  const { model, figures, stop_reason, stop_sequence, service_tier, request_id } = response;
  const words = [stop_reason, stop_sequence, service_tier, request_id];
  return (
    <p className="turn-end">
      {model && <PlainText as="span" text={model} />}
      <TokensAndCost figures={figures} />
      {words.map(
        (word, at) =>
          word && <PlainText as="span" key={at} text={word} />,
      )}
    </p>
  );
}
