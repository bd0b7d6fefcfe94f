import type { ReactNode } from "react";
import { useExpanded } from "../contexts";
import { DisclosureButton } from "../kit/DisclosureButton";
import { PlainText } from "../kit/PlainText";
import { useSelector } from "../kit/store";
import type { Section as SectionNode } from "../data/values";
import type { NodeProps } from "./nodeProps";

interface Props extends NodeProps<SectionNode> {
  /** Renders the nodes of the section. */
  children: () => ReactNode;
}

export function Section({ node, place, children }: Props) {
  const expanded = useExpanded();
  const key = `section:${place}`;
  const open = useSelector(expanded, () => expanded.has(key, node.open));
  return (
    <section className="section-node">
      <DisclosureButton open={open} onToggle={() => expanded.toggle(key)}>
        <PlainText className="label" text={node.title} />
      </DisclosureButton>
      {open && <div className="indented">{children()}</div>}
    </section>
  );
}
