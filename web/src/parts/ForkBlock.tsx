import { useReading } from "../contexts";
import { ForkIcon } from "../kit/ForkIcon";
import { Plain } from "../kit/visible";
import { plural } from "../kit/words";
import { sessionHref } from "../route";
import type { ForkPart } from "../values";
import type { PartProps } from "./drawing";

export function ForkBlock({ part, passage }: PartProps<ForkPart>) {
  const { thread, overview } = useReading();
  const marks = new Map(overview.branches.map((branch) => [branch.id, branch]));
  return (
    <nav className="fork" aria-label="branches">
      <p className="label"><ForkIcon /> {plural(part.branches.length, "branch", "branches")} from here</p>
      <ul>
        {part.branches.map((branch) => {
          const mark = marks.get(branch.id);
          const shown = branch.id === part.shown;
          return (
            <li key={branch.id}>
              <a
                href={sessionHref({ ...thread, branch: branch.id }, { message: passage.key })}
                aria-current={shown ? "true" : undefined}
              >
                <span aria-hidden="true">{shown ? "◉" : "○"}</span>
                <bdi>
                  <Plain text={branch.title || "(nothing)"} />
                </bdi>
                {mark && (
                  <span className="faint">
                    {plural(mark.turns, "turn")}
                    {mark.active && " · where it went on"}
                  </span>
                )}
              </a>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}
