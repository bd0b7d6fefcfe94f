import { useReading } from "../contexts";
import { Opener } from "../kit/Opener";
import { usePicked } from "../kit/store";
import { Plain } from "../kit/visible";
import type { Section as SectionNode } from "../values";
import type { NodeProps } from "./drawing";
import { NodeList } from "./NodeView";

export function Section({ node, place }: NodeProps<SectionNode>) {
  const { opened } = useReading();
  const key = `section:${place}`;
  const open = usePicked(opened, () => opened.isOpen(key, node.open));
  return (
    <section className="section-node">
      <Opener open={open} onToggle={() => opened.toggle(key)}>
        <span className="label">
          <Plain text={node.title} />
        </span>
      </Opener>
      {open && (
        <div className="within">
          <NodeList nodes={node.nodes} place={place} />
        </div>
      )}
    </section>
  );
}
