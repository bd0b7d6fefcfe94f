import { useMemo } from "react";
import { ansiLines, type Run } from "../kit/ansi";
import { Lines } from "../kit/Lines";
import { Plain } from "../kit/visible";
import type { Terminal as TerminalNode } from "../values";
import { useCut, type NodeProps } from "./drawing";

const LABELS: Record<string, string> = { in: "command", out: "output", err: "error output" };

export function Terminal({ node, place }: NodeProps<TerminalNode>) {
  const { cut, whole } = useCut(place);
  const lines = useMemo(() => ansiLines(node.text.replace(/\n$/, "")), [node.text]);
  return (
    <Lines
      className={`terminal ${node.stream}`}
      count={lines.length}
      total={cut?.lines}
      place={place}
      label={LABELS[node.stream] ?? "output"}
      whole={whole}
      line={(index) => (
        <div className="ln" key={index}>
          <code>
            {lines[index]?.map((run, at) => <Ink key={at} run={run} />)}
            {"\n"}
          </code>
        </div>
      )}
    />
  );
}

const SWITCHES = ["bold", "dim", "italic", "underline", "strike", "inverse"] as const;

function Ink({ run }: { run: Run }) {
  const names: string[] = SWITCHES.filter((name) => run[name]);
  const exactColor = typeof run.color === "string" ? run.color : null;
  if (exactColor) names.push("ink");
  else if (run.color !== undefined) names.push(`ink-${run.color}`);
  if (!names.length) return <Plain text={run.text} />;
  return (
    <span className={names.join(" ")} style={exactColor ? ({ "--chosen": exactColor } as React.CSSProperties) : undefined}>
      <Plain text={run.text} />
    </span>
  );
}
