/** Who wrote a message, when, and what it cost. */

import type { Figures } from "../data/values";
import { TokensAndCost } from "../kit/Figure";
import { fullTime, model as shortModel, timeOfDay } from "../kit/format";
import { PlainText } from "../kit/PlainText";
import { KIND_NAMES } from "../parts/kinds";
import { figuresOf } from "./jsonThread";
import { Island } from "./Island";
import type { Usage } from "./sessionJson";

interface Written {
  /** What kind of message it is, such as prompt or response. */
  kind?: string;
  model?: string | null;
  /** The time in ISO 8601. */
  timestamp?: string | null;
}

export interface MessageHeaderProps extends Written {
  usage?: Usage | null;
}

export function MessageHeader({ usage = null, ...written }: MessageHeaderProps) {
  return (
    <Island plain={() => written.model ?? written.kind}>
      <HeaderLine {...written} figures={usage && figuresOf(usage)} />
    </Island>
  );
}

export function HeaderLine({ kind = "", model = null, timestamp = null, figures }: Written & { figures: Figures | null }) {
  return (
    <p className="embedded-header">
      {model ? <PlainText title={model} text={shortModel(model)} /> : kind && <span>{KIND_NAMES[kind] ?? kind}</span>}
      {timestamp && (
        <time dateTime={timestamp} title={fullTime(timestamp)}>
          {timeOfDay(timestamp)}
        </time>
      )}
      {figures !== null && figures.tokens > 0 && <TokensAndCost figures={figures} />}
    </p>
  );
}
