import { Plain } from "../kit/visible";
import type { Facts as FactsNode } from "../values";
import type { NodeProps } from "./drawing";

export function Facts({ node }: NodeProps<FactsNode>) {
  return (
    <dl className="facts">
      {node.items.map((fact, index) => (
        <div key={index}>
          <dt>
            <Plain text={fact.name} />
          </dt>
          <dd>
            <Plain text={fact.value} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
