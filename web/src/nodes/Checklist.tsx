import { PlainText } from "../kit/PlainText";
import type { Checklist as ChecklistNode } from "../data/values";
import type { NodeProps } from "./nodeProps";

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
        const [mark, label] = MARKS[item.state] ?? ["☐", item.state];
        return (
          <li key={index} className={`${item.state}${item.changed ? " changed" : ""}`}>
            <span role="img" aria-label={label} title={label}>
              {mark}
            </span>
            <span>
              <PlainText text={item.text} />
              {item.note && (
                <span className="muted">
                  {" "}
                  <PlainText text={item.note} />
                </span>
              )}
            </span>
          </li>
        );
      })}
    </ul>
  );
}
