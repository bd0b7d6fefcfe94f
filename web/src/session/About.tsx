/** Where the session lies, what spoke in it, and what is odd about its file. */

import { useState } from "react";
import { useReading } from "../contexts";
import { Cost, Count } from "../kit/Figure";
import { useAsked } from "../kit/useAsked";
import { Plain } from "../kit/visible";
import { exact, plural } from "../kit/words";
import { sessionHref } from "../route";
import type { Problem, Spent } from "../values";
import { RawView } from "./RawView";

export function About({ spent }: { spent: Spent | null }) {
  const { overview, source, thread } = useReading();
  const asked = useAsked("problems", () => source.problems(thread));
  return (
    <section className="about" aria-label="about this session">
      <dl className="facts">
        <div>
          <dt>id</dt>
          <dd>{overview.id}</dd>
        </div>
        {overview.path && (
          <div>
            <dt>file</dt>
            <dd>
              <Plain text={overview.path} />
            </dd>
          </div>
        )}
        <div>
          <dt>written as</dt>
          <dd>{overview.dialects.join(", ")}</dd>
        </div>
        {overview.branches.length > 1 && (
          <div>
            <dt>branches</dt>
            <dd>
              {overview.branches.map((branch) => (
                <a
                  key={branch.id}
                  href={sessionHref({ ...thread, branch: branch.id })}
                  aria-current={branch.id === overview.branch ? "true" : undefined}
                >
                  <Plain text={branch.title} /> ({plural(branch.turns, "turn")})
                </a>
              ))}
            </dd>
          </div>
        )}
      </dl>
      {spent && Object.keys(spent.by_model).length > 0 && <ByModel spent={spent} />}
      {asked.state === "here" && asked.value.problems.length > 0 && (
        <div className="problems">
          <h2 className="label">what is odd about the file</h2>
          <ul>
            {asked.value.problems.map((problem, index) => (
              <Odd key={index} problem={problem} />
            ))}
          </ul>
          {asked.value.more > 0 && <p className="faint">{exact(asked.value.more)} more: reread check lists them.</p>}
        </div>
      )}
    </section>
  );
}

function Odd({ problem }: { problem: Problem }) {
  const { source } = useReading();
  const [raw, setRaw] = useState(false);
  return (
    <li>
      <span className={`note ${problem.level}`}>{problem.level}</span>{" "}
      {source.can.raw ? (
        <button type="button" className="quiet" aria-expanded={raw} onClick={() => setRaw(!raw)}>
          line {exact(problem.line)}
        </button>
      ) : (
        `line ${exact(problem.line)}`
      )}{" "}
      <Plain text={problem.text} />
      {raw && <RawView target={{ line: problem.line }} />}
    </li>
  );
}

function ByModel({ spent }: { spent: Spent }) {
  return (
    <table className="figures">
      <thead>
        <tr>
          <th scope="col">model</th>
          <th scope="col" className="num">
            tokens
          </th>
          <th scope="col" className="num">
            output
          </th>
          <th scope="col" className="num">
            cost
          </th>
        </tr>
      </thead>
      <tbody>
        {Object.entries(spent.by_model).map(([name, figures]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
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
