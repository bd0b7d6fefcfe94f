import { Lines } from "../kit/Lines";
import { Plain } from "../kit/visible";
import type { Files as FilesNode } from "../values";
import { useCut, type NodeProps } from "./drawing";

export function Files({ node, place }: NodeProps<FilesNode>) {
  const { cut, whole } = useCut(place);
  return (
    <Lines
      className="files"
      count={node.entries.length}
      total={cut?.lines}
      place={place}
      label="files"
      whole={whole}
      line={(index) => {
        const entry = node.entries[index];
        if (!entry) return null;
        const name = entry.path.lastIndexOf("/", entry.path.length - 2) + 1;
        return (
          <div className="ln" key={index}>
            <code>
              <span className="faint">
                <Plain text={entry.path.slice(0, name)} />
              </span>
              <Plain text={entry.path.slice(name)} />
            </code>
            {entry.note && <span className="entry-note">{entry.note}</span>}
          </div>
        );
      }}
    />
  );
}
