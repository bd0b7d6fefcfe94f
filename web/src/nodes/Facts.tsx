import { PlainText } from "../kit/PlainText";
import type { Facts as FactsNode } from "../data/values";
import type { NodeProps } from "./nodeProps";

export function Facts({ node }: NodeProps<FactsNode>) {
  return (
    <dl className="facts">
      {node.items.map((fact, index) => (
        <div key={index}>
          <dt>
            <PlainText text={fact.name} />
          </dt>
          <PlainText as="dd" text={fact.value} />
        </div>
      ))}
    </dl>
  );
}
