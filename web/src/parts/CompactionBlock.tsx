import { Count } from "../kit/Figure";
import { Markdown } from "../kit/Markdown";
import type { CompactionPart } from "../values";
import { Fold } from "./Fold";
import { Rest } from "./Rest";
import type { PartProps } from "./drawing";

export function CompactionBlock({ part, passage, at }: PartProps<CompactionPart>) {
  return (
    <div className="compaction" role="group" aria-label="compaction">
      <p className="divider">
        <span>
          {part.micro ? "old results cleared" : "compacted"}
          {part.trigger && ` · ${part.trigger}`}
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
        <Fold name={`summary:${passage.key}:${at}`} line={<span className="faint">what was kept of it</span>}>
          {() => (
            <>
              <Markdown text={part.summary} />
              <Rest chars={part.chars} passage={passage} />
            </>
          )}
        </Fold>
      )}
    </div>
  );
}
