/** Details of a session: its file, format, branches, usage by model, and warnings about the file. */

import { useThreadStore } from "../contexts";
import { Cost, Count } from "../kit/Figure";
import { FigureHead } from "../kit/FigureHead";
import { exact, plural } from "../kit/format";
import { useKept } from "../kit/kept";
import { PlainText } from "../kit/PlainText";
import { NodeList } from "../nodes/NodeList";
import { useAsync } from "../kit/useAsync";
import { sessionHref } from "../route";
import type { Finding, UsageSummary } from "../data/values";
import { RawView } from "./RawView";

const FORMATS: Record<string, string> = {
  native: "Claude Code",
  "stream-json": "Claude Code stream-json output",
  early: "early Claude Code",
  stored: "reread capture",
};

export function About({ usage }: { usage: UsageSummary | null }) {
  const { overview, source, thread } = useThreadStore();
  const loaded = useAsync("problems", () => source.problems(thread));
  return (
    <section className="about-tab" aria-label="About this session">
      <dl className="facts">
        <div>
          <dt>ID</dt>
          <PlainText as="dd" text={overview.id} />
        </div>
        {overview.path && (
          <div>
            <dt>File</dt>
            <PlainText as="dd" text={overview.path} />
          </div>
        )}
        <div>
          <dt>Format</dt>
          <dd className="words">{overview.dialects.map((dialect) => FORMATS[dialect] ?? dialect).join(", ")}</dd>
        </div>
        {overview.branches.length > 1 && (
          <div>
            <dt>Branches</dt>
            <dd className="words">
              {overview.branches.map((branch) => (
                <a
                  key={branch.id}
                  href={sessionHref({ ...thread, branch: branch.id })}
                  aria-current={branch.id === overview.branch ? "true" : undefined}
                >
                  <PlainText text={branch.title} /> ({plural(branch.turns, "turn")})
                </a>
              ))}
            </dd>
          </div>
        )}
      </dl>
      <NodeList nodes={overview.state} place="state" />
      {usage && Object.keys(usage.by_model).length > 0 && <UsageByModel usage={usage} />}
      {loaded.state === "ready" && loaded.value.problems.length > 0 && (
        <div className="problems">
          <h2 className="label">Warnings</h2>
          <ul>
            {loaded.value.problems.map((problem, index) => (
              <ProblemRow key={index} problem={problem} />
            ))}
          </ul>
          {loaded.value.more > 0 && (
            <p className="muted">
              {exact(loaded.value.more)} more: run <code>reread check</code> to list them all.
            </p>
          )}
        </div>
      )}
    </section>
  );
}

function ProblemRow({ problem }: { problem: Finding }) {
  const { source } = useThreadStore();
  const [raw, setRaw] = useKept(`raw ${problem.line} ${problem.text}`, false);
  return (
    <li>
      <span className={`note ${problem.level}`}>{problem.level}</span>{" "}
      {source.can.raw ? (
        <button type="button" className="link-button" aria-expanded={raw} onClick={() => setRaw(!raw)}>
          line {exact(problem.line)}
        </button>
      ) : (
        `line ${exact(problem.line)}`
      )}{" "}
      <PlainText text={problem.text} />
      {raw && <RawView target={{ line: problem.line }} />}
    </li>
  );
}

function UsageByModel({ usage }: { usage: UsageSummary }) {
  return (
    <table className="figures">
      <FigureHead group="Model" figures={["Tokens", "Output", "Cost"]} />
      <tbody>
        {Object.entries(usage.by_model).map(([name, figures]) => (
          <tr key={name}>
            <th scope="row">
              <PlainText text={name} />
            </th>
            <td className="num">
              <Count value={figures.tokens} unit="tokens" />
            </td>
            <td className="num">
              <Count value={figures.output_tokens} unit="tokens" />
            </td>
            <td className="num">
              <Cost figures={figures} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
