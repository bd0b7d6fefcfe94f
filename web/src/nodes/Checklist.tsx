import { Plain } from "../kit/visible";
import type { Checklist as ChecklistNode } from "../values";
import type { NodeProps } from "./drawing";

const MARKS: Record<string, [string, string]> = {
  pending: ["☐", "to do"],
  active: ["◐", "in progress"],
  done: ["☑", "done"],
  cancelled: ["☒", "cancelled"],
};

export function Checklist({ node }: NodeProps<ChecklistNode>) {
  return (
    <ul className="checklist">
      {node.items.map((item, index) => {
        const [mark, said] = MARKS[item.state] ?? ["☐", item.state];
        return (
          <li key={index} className={`${item.state}${item.changed ? " changed" : ""}`}>
            <span role="img" aria-label={said} title={said}>
              {mark}
            </span>
            <span>
              <Plain text={item.text} />
              {item.note && <span className="faint"> {item.note}</span>}
            </span>
          </li>
        );
      })}
    </ul>
  );
}
