/** Files as the rows of a tree; what is alone in its folder is on the folder's row. The terminal draws the same tree. */

import type { FileEntry } from "../data/values";

export interface FileRow {
  depth: number;
  /** A folder, or the folders before a name. */
  folder: string;
  name: string;
  note: string | null;
}

interface Folder {
  files: [name: string, note: string | null][];
  folders: Map<string, Folder>;
}

const emptyFolder = (): Folder => ({ files: [], folders: new Map() });

/** The folders and the name in a path, each with the separator after it; in POSIX, a backslash is part of a name. */
const pieces = (path: string): string[] => path.match(path.startsWith("/") ? /[^/]*\/+|[^/]+/g : /[^\\/]*[\\/]+|[^\\/]+/g) ?? [];

export function fileRows(entries: readonly FileEntry[]): FileRow[] {
  const root = emptyFolder();
  for (const entry of entries) {
    let folder = root;
    const parts = pieces(entry.path);
    const name = parts.pop() ?? "";
    for (const part of parts) {
      const inner = folder.folders.get(part) ?? emptyFolder();
      folder.folders.set(part, inner);
      folder = inner;
    }
    folder.files.push([name, entry.note]);
  }
  return folderRows(root);
}

function folderRows(root: Folder): FileRow[] {
  const rows: FileRow[] = [];
  const waiting: [depth: number, name: string, folder: Folder][] = [[0, "", root]];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    let [depth, label, folder] = next;
    while (!folder.files.length && folder.folders.size === 1) {
      for (const [name, inner] of folder.folders) {
        label += name;
        folder = inner;
      }
    }
    const only = folder.folders.size ? undefined : folder.files.length === 1 ? folder.files[0] : undefined;
    if (only) {
      rows.push({ depth, folder: label, name: only[0], note: only[1] });
      continue;
    }
    if (label) rows.push({ depth: depth++, folder: label, name: "", note: null });
    for (const [name, note] of folder.files) rows.push({ depth, folder: "", name, note });
    for (const [name, inner] of [...folder.folders].reverse()) waiting.push([depth, name, inner]);
  }
  return rows;
}
