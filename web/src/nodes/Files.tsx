import { Lines } from "../kit/Lines";
import { nameStart } from "../kit/format";
import { PlainText } from "../kit/PlainText";
import type { Files as FilesNode } from "../values";
import { useCut, type NodeProps } from "./nodeProps";

export function Files({ node, place }: NodeProps<FilesNode>) {
  const { cut, loadWhole } = useCut(place);
  return (
    <Lines
      className="files"
      count={node.entries.length}
      total={cut?.lines}
      place={place}
      label="files"
      loadWhole={loadWhole}
      line={(index) => {
        const entry = node.entries[index];
        if (!entry) return null;
        const name = nameStart(entry.path);
        return (
          <div className="line" key={index}>
            <code>
              <span className="muted">
                <PlainText text={entry.path.slice(0, name)} />
              </span>
              <PlainText text={entry.path.slice(name)} />
            </code>
            {entry.note && (
              <span className="file-note">
                <PlainText text={entry.note} />
              </span>
            )}
          </div>
        );
      }}
    />
  );
}
