import { useExpanded } from "../contexts";
import { useSelector } from "../kit/store";
import { Markdown } from "../markdown/Markdown";
import { duration } from "../kit/format";
import type { ThinkingPart } from "../data/values";
import { Collapsible } from "./Collapsible";
import { thinkingKey } from "./keys";
import type { PartProps } from "./partProps";
import { ShowAll } from "./ShowAll";

export function ThinkingBlock({ part, item, at }: PartProps<ThinkingPart>) {
  const expanded = useExpanded();
  const allExpanded = useSelector(expanded, () => expanded.thinking);
  const seconds = part.seconds === null ? null : <span className="seconds">{duration(part.seconds)}</span>;
  if (!part.text) {
    return (
      <div className="thinking not-recorded">
        <span className="muted">Thinking (not recorded)</span>
        {seconds}
      </div>
    );
  }
  return (
    <Collapsible
      name={thinkingKey(item, at)}
      byDefault={allExpanded}
      className="thinking"
      header={<span className="muted">Thinking</span>}
      trailing={seconds}
    >
      {() => <ThinkingText part={part} item={item} />}
    </Collapsible>
  );
}

export function ThinkingText({ part, item }: Pick<PartProps<ThinkingPart>, "part" | "item">) {
  return (
    <>
      <Markdown text={part.text} />
      <ShowAll chars={part.chars} item={item} />
    </>
  );
}
