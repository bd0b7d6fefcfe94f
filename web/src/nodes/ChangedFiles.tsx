/** Changed files, as a tree with the lines of each, and one after the other. */

import { useEffect, useMemo, useRef, type ReactNode } from "react";
import { plural } from "../kit/format";
import { PlainText } from "../kit/PlainText";
import { fileRows } from "./fileTree";

/** So many files are open at first, unless more lines than these changed in one. */
const FIRST_OPEN = 20;
export const MOST_LINES = 400;

interface Changed {
  path: string;
  added: number;
  removed: number;
}

/** True if what changed in a file is shown before anyone asks. */
export const isOpenAtFirst = ({ added, removed }: Changed, index: number): boolean => index < FIRST_OPEN && added + removed <= MOST_LINES;

export function LineCounts({ added, removed }: Pick<Changed, "added" | "removed">) {
  return (
    <span className="num line-counts">
      <span className="added-lines">+{added}</span> <span className="removed-lines">−{removed}</span>
    </span>
  );
}

/** The rows of the tree of some files; the note of a row is the index of its file. */
export const treeOf = (files: Changed[]) => fileRows(files.map(({ path }, index) => ({ path, note: String(index) })));

interface TreeProps<File extends Changed> {
  files: File[];
  /** A link to what changed in a file. */
  link(file: File, label: ReactNode): ReactNode;
}

export function FileTree<File extends Changed>({ files, link }: TreeProps<File>) {
  const rows = useMemo(() => treeOf(files), [files]);
  const sum = (count: (file: File) => number) => files.reduce((sum, file) => sum + count(file), 0);
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
                {file ? link(file, label) : <span className="path">{label}</span>}
                {file && <LineCounts {...file} />}
              </li>
            );
          })}
        </ul>
      )}
    </>
  );
}

interface SectionProps {
  file: Changed;
  open: boolean;
  onToggle(): void;
  /** Brings the file to the top when it becomes true. */
  chosen?: boolean;
  /** What else is said beside the path. */
  more?: ReactNode;
  children: ReactNode;
}

/** A file with its head, which folds it. */
export function FileSection({ file, open, onToggle, chosen = false, more, children }: SectionProps) {
  const element = useRef<HTMLElement>(null);
  useEffect(() => {
    if (chosen && element.current) scrollToTop(element.current);
  }, [chosen]);
  return (
    <section ref={element} className="file-section">
      <button type="button" className="changed-file" aria-expanded={open} onClick={onToggle}>
        <span className="arrow" aria-hidden="true" />
        <PlainText className="path" text={file.path} />
        {more}
        <LineCounts {...file} />
      </button>
      {open && <div className="file-body">{children}</div>}
    </section>
  );
}

/** Scroll the panel, and nothing else, to a part of it; on a page without one, the page. */
function scrollToTop(part: HTMLElement): void {
  const panel = part.closest(".side-panel");
  const head = panel?.querySelector(".panel-head");
  if (panel && head) panel.scrollTop += part.getBoundingClientRect().top - head.getBoundingClientRect().bottom;
  else part.scrollIntoView();
}
