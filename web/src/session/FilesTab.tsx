/** The files that the session changed: a tree with sums, and for each what changed in all, its versions, and who wrote each line. */

import { useEffect, useMemo, useRef } from "react";
import { useThreadStore } from "../contexts";
import { ChipGroup } from "../kit/ChipGroup";
import { capitalized, plural } from "../kit/format";
import { useKept } from "../kit/kept";
import { PlainText, visible } from "../kit/PlainText";
import { useAsync } from "../kit/useAsync";
import { fileRows, type FileRow } from "../nodes/fileTree";
import { NodeList } from "../nodes/NodeList";
import type { ChangedFile } from "../data/values";
import { FileBlameView } from "./FileBlameView";
import { FileVersions } from "./FileVersions";
import { PanelLink } from "./PanelLink";

/** So many files are open at first, unless more lines than these changed in one. */
const FIRST_OPEN = 20;
const MOST_LINES = 400;
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
  // The note of an entry is the index of its file.
  const rows = useMemo(() => fileRows(files.map(({ path }, index) => ({ path, note: String(index) }))), [files]);
  const inOrder = rows.flatMap(({ note }) => (note === null ? [] : [Number(note)]));
  return (
    <section className="files-tab" aria-label="Files that this session changed">
      {files.length === 0 ? <p className="note">This session changed no files.</p> : <Tree files={files} rows={rows} />}
      {inOrder.map((index) => {
        const file = files[index];
        return file && <FileSection key={file.path} file={file} index={index} chosen={file.path === chosen} />;
      })}
    </section>
  );
}

export function LineCounts({ added, removed }: { added: number; removed: number }) {
  return (
    <span className="num line-counts">
      <span className="added-lines">+{added}</span> <span className="removed-lines">−{removed}</span>
    </span>
  );
}

function Tree({ files, rows }: { files: ChangedFile[]; rows: FileRow[] }) {
  const sum = (count: (file: ChangedFile) => number) => files.reduce((sum, file) => sum + count(file), 0);
  return (
    <>
      <p className="panel-place">
        <strong>{plural(files.length, "file")}</strong>
        <LineCounts added={sum(({ added }) => added)} removed={sum(({ removed }) => removed)} />
      </p>
      {files.length > 1 && (
        <ul className="changed-tree" aria-label="Tree of the files">
          {rows.map(({ depth, folder, name, note }, at) => {
            const file = note === null ? undefined : files[Number(note)];
            const label = (
              <>
                <PlainText className="muted" text={folder} />
                <PlainText text={name} />
              </>
            );
            return (
              <li key={at} style={{ paddingInlineStart: depth * 16 }}>
                {file ? (
                  <PanelLink className="path" panel={{ tab: "files", chosen: file.path }} title={file.path}>
                    {label}
                  </PanelLink>
                ) : (
                  <span className="path">{label}</span>
                )}
                {file && <LineCounts added={file.added} removed={file.removed} />}
              </li>
            );
          })}
        </ul>
      )}
    </>
  );
}

/** About as high as a diff of so many lines: those around its changes, and the pixels of one. */
const CONTEXT_LINES = 6;
const LINE_HEIGHT = 20;

function FileSection({ file, index, chosen }: { file: ChangedFile; index: number; chosen: boolean }) {
  const [open, setOpen] = useKept(`open ${file.path}`, chosen || (index < FIRST_OPEN && file.added + file.removed <= MOST_LINES));
  const [mode, setMode] = useKept<(typeof MODES)[number]>(`shown ${file.path}`, "changes");
  const element = useRef<HTMLElement>(null);
  useEffect(() => {
    if (!chosen) return;
    setOpen(true);
    if (element.current) scrollToTop(element.current);
  }, [chosen]);
  return (
    <section ref={element} className="file-section">
      <button type="button" className="changed-file" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span className="arrow" aria-hidden="true" />
        <PlainText className="path" text={file.path} />
        <LineCounts added={file.added} removed={file.removed} />
      </button>
      {open && (
        <div className="file-body">
          <p className="file-facts">
            <ChipGroup label={visible(`What to show of ${file.path}`)} options={MODES} value={mode} name={capitalized} onChoose={setMode} />
            <span className="muted">{facts(file)}</span>
          </p>
          {mode === "changes" && <Changes index={index} lines={file.added + file.removed} />}
          {mode === "versions" && <FileVersions file={file} index={index} />}
          {mode === "blame" && <FileBlameView file={file} index={index} />}
        </div>
      )}
    </section>
  );
}

/** Scroll the panel, and nothing else, to a part of it. */
function scrollToTop(part: HTMLElement): void {
  const panel = part.closest(".side-panel");
  const head = panel?.querySelector(".panel-head");
  if (panel && head) panel.scrollTop += part.getBoundingClientRect().top - head.getBoundingClientRect().bottom;
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
