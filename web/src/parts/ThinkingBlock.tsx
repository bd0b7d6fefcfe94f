import { useReading } from "../contexts";
import { usePicked } from "../kit/store";
import { Markdown } from "../kit/Markdown";
import { duration } from "../kit/words";
import type { ThinkingPart } from "../values";
import { Fold } from "./Fold";
import { Rest } from "./Rest";
import type { PartProps } from "./drawing";

export function ThinkingBlock({ part, passage, at }: PartProps<ThinkingPart>) {
  const { opened } = useReading();
  const everywhere = usePicked(opened, () => opened.thinking);
  const seconds = part.seconds === null ? null : <span className="seconds">{duration(part.seconds)}</span>;
  if (!part.text) {
    return (
      <div className="thinking silent">
        <span className="faint">thinking, not recorded</span>
        {seconds}
      </div>
    );
  }
  return (
    <Fold
      name={`thinking:${passage.key}:${at}`}
      byDefault={everywhere}
      className="thinking"
      line={<span className="faint">thinking</span>}
      aside={seconds}
    >
      {() => (
        <>
          <Markdown text={part.text} />
          <Rest chars={part.chars} passage={passage} />
        </>
      )}
    </Fold>
  );
}
