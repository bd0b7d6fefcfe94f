/** Who wrote a message, when, and what it cost. */

import { Cost, Count } from "../kit/Figure";
import { fullTime, model as shortModel, timeOfDay } from "../kit/format";
import { PlainText, visible } from "../kit/PlainText";
import { KIND_NAMES } from "../kinds";
import { Root } from "./Root";
import type { Usage } from "./sessionJson";

export interface MessageHeaderProps {
  /** What kind of message it is, such as prompt or response. */
  kind?: string;
  model?: string | null;
  /** The time in ISO 8601. */
  timestamp?: string | null;
  usage?: Usage | null;
}

export function MessageHeader({ kind = "", model = null, timestamp = null, usage = null }: MessageHeaderProps) {
  return (
    <Root>
      <p className="embedded-header">
        {model ? (
          <span title={visible(model)}>
            <PlainText text={shortModel(model)} />
          </span>
        ) : (
          kind && <span>{KIND_NAMES[kind] ?? kind}</span>
        )}
        {timestamp && (
          <time dateTime={timestamp} title={fullTime(timestamp)}>
            {timeOfDay(timestamp)}
          </time>
        )}
        {usage && <Figures usage={usage} />}
      </p>
    </Root>
  );
}

/** Tokens and cost, if there are any. */
export function Figures({ usage }: { usage: Usage }) {
  const tokens =
    usage.input_tokens +
    usage.output_tokens +
    usage.cache_write_5m_tokens +
    usage.cache_write_1h_tokens +
    usage.cache_read_tokens;
  if (!tokens) return null;
  return (
    <>
      <span>
        <Count value={tokens} unit="tokens" /> tokens
      </span>
      {usage.cost_usd !== null && <Cost figures={usage} />}
    </>
  );
}
