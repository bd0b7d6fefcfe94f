import { useMemo } from "react";
import { ansiLines, stripAnsi, type Run } from "../kit/ansi";
import { Lines } from "../kit/Lines";
import { LongText } from "../kit/LongText";
import type { Terminal as TerminalNode } from "../data/values";
import { useCut, type NodeProps } from "./nodeProps";

/** A line with more styled runs shows the rest on request, without style. */
const MOST_RUNS = 400;
const LONGEST_RUN = 5000;
const restOf = (runs: Run[] = []): string => runs.slice(MOST_RUNS).map(({ text }) => text).join("");

const LABELS: Record<string, string> = { in: "command", out: "output", err: "error output" };

export function Terminal({ node, place }: NodeProps<TerminalNode>) {
  const { cut, loadWhole } = useCut(place);
  const lines = useMemo(() => ansiLines(node.text.replace(/\n$/, "")), [node.text]);
  const end = useMemo(() => (cut?.tail ? ansiLines(cut.tail) : null), [cut?.tail]);
  const draw = (lines: Run[][]) => (index: number) => (
    <div className="line" key={index}>
      <code>
        {lines[index]?.slice(0, MOST_RUNS).map((run, at) => <StyledRun key={at} run={run} />)}
        <LongText first={0} text={restOf(lines[index])} />
        {"\n"}
      </code>
    </div>
  );
  return (
    <Lines
      className={`terminal ${node.stream}`}
      count={lines.length}
      total={cut?.lines}
      place={place}
      label={LABELS[node.stream] ?? "output"}
      loadWhole={loadWhole}
      withEnd={node.stream !== "in"}
      rest={end ? { count: end.length, line: draw(end) } : undefined}
      text={() => stripAnsi(node.text)}
      line={draw(lines)}
    />
  );
}

const STYLES = ["bold", "dim", "italic", "underline", "strike", "inverse"] as const;

function StyledRun({ run }: { run: Run }) {
  const names: string[] = STYLES.filter((name) => run[name]);
  const exactColor = typeof run.color === "string" ? run.color : null;
  if (exactColor) names.push("ansi-rgb");
  else if (run.color !== undefined) names.push(`ansi-${run.color}`);
  if (!names.length) return <LongText text={run.text} first={LONGEST_RUN} />;
  return (
    <span className={names.join(" ")} style={exactColor ? ({ "--ansi-color": exactColor } as React.CSSProperties) : undefined}>
      <LongText text={run.text} first={LONGEST_RUN} />
    </span>
  );
}
