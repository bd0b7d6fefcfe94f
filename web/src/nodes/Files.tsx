import { useMemo } from "react";
import { Lines } from "../kit/Lines";
import { PlainText } from "../kit/PlainText";
import type { Files as FilesNode } from "../data/values";
import { fileRows } from "./fileTree";
import { useCut, type NodeProps } from "./nodeProps";

export function Files({ node, place }: NodeProps<FilesNode>) {
  const { cut, loadWhole } = useCut(place);
  const rows = useMemo(() => fileRows(node.entries), [node]);
  return (
    <Lines
      className="files"
      count={rows.length}
      total={cut?.lines ? rows.length + cut.lines - node.entries.length : undefined}
      place={place}
      label="files"
      loadWhole={loadWhole}
      line={(index) => {
        const row = rows[index];
        if (!row) return null;
        return (
          <div className="line" key={index}>
            <code>
              {"  ".repeat(row.depth)}
              <PlainText className="muted" text={row.folder} />
              <PlainText text={row.name} />
            </code>
            {row.note && <PlainText className="file-note" text={row.note} />}
          </div>
        );
      }}
    />
  );
}
