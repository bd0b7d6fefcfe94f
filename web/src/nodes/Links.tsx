import { SafeLink } from "../kit/SafeLink";
import { PlainText } from "../kit/PlainText";
import type { Links as LinksNode } from "../data/values";
import type { NodeProps } from "./nodeProps";

export function Links({ node }: NodeProps<LinksNode>) {
  return (
    <ul className="links">
      {node.targets.map((target, index) => (
        <li key={index}>
          <SafeLink url={target.url} text={target.title ?? target.url}>
            <PlainText text={target.title ?? target.url} />
          </SafeLink>
          {target.title && (
            <span className="muted">
              {" "}
              <PlainText text={target.url} />
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}
