/** The files that the session changed: a tree with sums, and for each what changed in all, its versions, and who wrote each line. */

import { useEffect, useMemo } from "react";
import { useThreadStore } from "../contexts";
import { ChipGroup } from "../kit/ChipGroup";
import { capitalized, plural } from "../kit/format";
import { useKept } from "../kit/kept";
import { visible } from "../kit/PlainText";
import { useAsync } from "../kit/useAsync";
import { FileSection, FileTree, isOpenAtFirst, MOST_LINES, treeOf } from "../nodes/ChangedFiles";
import { NodeList } from "../nodes/NodeList";
import type { ChangedFile } from "../data/values";
import { FileBlameView } from "./FileBlameView";
import { FileVersions } from "./FileVersions";
import { PanelLink } from "./PanelLink";

/** The files are listed again after this many new messages. */
const STEP = 10;
const MODES = ["changes", "versions", "blame"] as const;
const STATUS: Record<string, string> = { created: "new", deleted: "deleted", same: "no change left" };

export function FilesTab({ chosen }: { chosen: string }) {
  const { source, thread, total } = useThreadStore();
  const loaded = useAsync("files", () => source.files(thread), Math.floor(total / STEP));
  if (loaded.state === "loading") return <section aria-label="Files" aria-busy="true" />;
  if (loaded.state === "failed") return <p className="note error">{loaded.error.message}</p>;
  return <ChangedFiles files={loaded.value.files} chosen={chosen} />;
}

function ChangedFiles({ files, chosen }: { files: ChangedFile[]; chosen: string }) {
  const inOrder = useMemo(() => treeOf(files).flatMap(({ note }) => (note === null ? [] : [Number(note)])), [files]);
  return (
    <section className="files-tab" aria-label="Files that this session changed">
      {files.length === 0 ? (
        <p className="note">This session changed no files.</p>
      ) : (
        <FileTree
          files={files}
          link={({ path }, label) => (
            <PanelLink className="path" panel={{ tab: "files", chosen: path }} title={path}>
              {label}
            </PanelLink>
          )}
        />
      )}
      {inOrder.map((index) => {
        const file = files[index];
        return file && <SessionFile key={file.path} file={file} index={index} chosen={file.path === chosen} />;
      })}
    </section>
  );
}

/** About as high as a diff of so many lines: those around its changes, and the pixels of one. */
const CONTEXT_LINES = 6;
const LINE_HEIGHT = 20;

function SessionFile({ file, index, chosen }: { file: ChangedFile; index: number; chosen: boolean }) {
  const [open, setOpen] = useKept(`open ${file.path}`, chosen || isOpenAtFirst(file, index));
  const [mode, setMode] = useKept<(typeof MODES)[number]>(`shown ${file.path}`, "changes");
  useEffect(() => {
    if (chosen) setOpen(true);
  }, [chosen]);
  return (
    <FileSection file={file} open={open} onToggle={() => setOpen(!open)} chosen={chosen}>
      <p className="file-facts">
        <ChipGroup label={visible(`What to show of ${file.path}`)} options={MODES} value={mode} name={capitalized} onChoose={setMode} />
        <span className="muted">{facts(file)}</span>
      </p>
      {mode === "changes" && <Changes index={index} lines={file.added + file.removed} />}
      {mode === "versions" && <FileVersions file={file} index={index} />}
      {mode === "blame" && <FileBlameView file={file} index={index} />}
    </FileSection>
  );
}

function facts(file: ChangedFile): string {
  const turns = file.turns.length === 1 ? `turn ${file.turns[0]}` : plural(file.turns.length, "turn");
  return [
    STATUS[file.status] ?? "",
    turns,
    file.agents ? plural(file.agents, "agent") : "",
    file.outside ? `also changed outside, ${file.outside === 1 ? "once" : `${file.outside} times`}` : "",
  ]
    .filter(Boolean)
    .join(" · ");
}

/** What the whole session changed in a file; `lines` grows with it. */
function Changes({ index, lines }: { index: number; lines: number }) {
  const { source, thread } = useThreadStore();
  const loaded = useAsync(`diff ${index}`, () => source.fileDiff(thread, index), lines);
  if (loaded.state === "failed") return <p className="note error">{loaded.error.message}</p>;
  if (loaded.state === "loading") {
    return (
      <p className="muted loading" style={{ minHeight: `${Math.min(lines + CONTEXT_LINES, MOST_LINES) * LINE_HEIGHT}px` }}>
        Loading…
      </p>
    );
  }
  return (
    <>
      {!loaded.value.whole && <p className="note">Not all of the text is known: these are the changes one after the other.</p>}
      <NodeList nodes={loaded.value.nodes} place={`diff${index}`} />
    </>
  );
}
