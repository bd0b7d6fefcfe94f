import { Count } from "../kit/Figure";
import { Markdown } from "../markdown/Markdown";
import { PlainText } from "../kit/PlainText";
import type { CompactionPart } from "../data/values";
import { Collapsible } from "./Collapsible";
import { summaryKey } from "./keys";
import type { PartProps } from "./partProps";
import { ShowAll } from "./ShowAll";

export function CompactionBlock({ part, item, at }: PartProps<CompactionPart>) {
  return (
    <div className="compaction" role="group" aria-label="compaction">
      <p className="divider">
        <span>
          {part.micro ? "Old tool results cleared" : "Compacted"}
          {part.trigger && (
            <>
              {" · "}
              <PlainText text={part.trigger} />
            </>
          )}
          {part.before !== null && (
            <>
              {" · "}
              <Count value={part.before} unit="tokens" />
              {part.after !== null && (
                <>
                  {" → "}
                  <Count value={part.after} unit="tokens" />
                </>
              )}
              {" tokens"}
            </>
          )}
        </span>
      </p>
      {part.summary && (
        <Collapsible name={summaryKey(item, at)} header={<span className="muted">Summary</span>}>
          {() => (
            <>
              <Markdown text={part.summary} />
              <ShowAll chars={part.chars} item={item} />
            </>
          )}
        </Collapsible>
      )}
    </div>
  );
}
