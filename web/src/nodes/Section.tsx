import { useReading } from "../contexts";
import { usePicked } from "../kit/store";
import { Plain } from "../kit/visible";
import type { Section as SectionNode } from "../values";
import { NodeList, type NodeProps } from "./NodeView";

export function Section({ node, place }: NodeProps<SectionNode>) {
  const { opened } = useReading();
  const key = `section:${place}`;
  const open = usePicked(opened, () => opened.isOpen(key, node.open));
  return (
    <section className="section-node">
      <button type="button" className="opener" aria-expanded={open} onClick={() => opened.toggle(key)}>
        <span className="arrow" aria-hidden="true" />
        <span className="label">
          <Plain text={node.title} />
        </span>
      </button>
      {open && (
        <div className="within">
          <NodeList nodes={node.nodes} place={place} />
        </div>
      )}
    </section>
  );
}
