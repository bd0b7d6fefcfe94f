import { SafeLink } from "../kit/Markdown";
import { Plain } from "../kit/visible";
import type { Links as LinksNode } from "../values";
import type { NodeProps } from "./drawing";

export function Links({ node }: NodeProps<LinksNode>) {
  return (
    <ul className="links">
      {node.targets.map((target, index) => (
        <li key={index}>
          <SafeLink url={target.url}>
            <Plain text={target.title ?? target.url} />
          </SafeLink>
          {target.title && (
            <span className="faint">
              {" "}
              <Plain text={target.url} />
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}
