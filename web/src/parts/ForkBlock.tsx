import { useThreadStore } from "../contexts";
import { ForkIcon } from "../kit/ForkIcon";
import { PlainText } from "../kit/PlainText";
import { plural } from "../kit/format";
import { sessionHref } from "../route";
import type { ForkPart } from "../data/values";
import type { PartProps } from "./partProps";

export function ForkBlock({ part, item }: PartProps<ForkPart>) {
  const { thread, overview } = useThreadStore();
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
                href={sessionHref({ ...thread, branch: branch.id }, { message: item.key })}
                aria-current={shown ? "true" : undefined}
              >
                <span aria-hidden="true">{shown ? "◉" : "○"}</span>
                <PlainText as="bdi" text={branch.title || "(no prompt)"} />
                {mark && (
                  <span className="muted">
                    {plural(mark.turns, "turn")}
                    {mark.active && " · current branch"}
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
