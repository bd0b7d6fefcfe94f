/** A hunk as numbered rows, for one or two columns, with the changed part of each line. */

import type { Hunk } from "../data/values";

export interface DiffLine {
  sign: " " | "-" | "+";
  text: string;
  number: number;
  /** Its place in the old text of the hunk if it was removed, else in the new one. */
  at: number;
  /** The slice that differs from the line it is paired with. */
  changed?: [number, number];
}

export type InlineRow = DiffLine & { old: number | null; new: number | null };

export interface PairRow {
  left: DiffLine | null;
  right: DiffLine | null;
}

export function pairRows(hunk: Hunk): PairRow[] {
  const rows: PairRow[] = [];
  let removed: DiffLine[] = [];
  let added: DiffLine[] = [];
  const flush = () => {
    if (removed.length === added.length) removed.forEach((line, at) => markChanged(line, added[at] as DiffLine));
    for (let at = 0; at < Math.max(removed.length, added.length); at += 1) {
      rows.push({ left: removed[at] ?? null, right: added[at] ?? null });
    }
    removed = [];
    added = [];
  };
  for (const row of numbered(hunk)) {
    if (row.sign === "-") {
      if (added.length) flush();
      removed.push(row);
    } else if (row.sign === "+") added.push(row);
    else {
      flush();
      rows.push({ left: { ...row, number: row.old ?? 0 }, right: row });
    }
  }
  flush();
  return rows;
}

/** The rows for one column: in each run of changes the removed lines, then the added ones. */
export function inlineRows(hunk: Hunk): InlineRow[] {
  const rows: InlineRow[] = [];
  let added: InlineRow[] = [];
  for (const { left, right } of pairRows(hunk)) {
    if (left && left.sign === " ") {
      rows.push(...added, { ...left, old: left.number, new: right?.number ?? null });
      added = [];
      continue;
    }
    if (left && added.length && !right) {
      rows.push({ ...left, old: left.number, new: null });
      continue;
    }
    if (left) rows.push({ ...left, old: left.number, new: null });
    if (right) added.push({ ...right, old: null, new: right.number });
  }
  return [...rows, ...added];
}

function numbered(hunk: Hunk): InlineRow[] {
  let before = hunk.old_start;
  let after = hunk.new_start;
  return hunk.lines.flatMap((line): InlineRow[] => {
    const sign = line[0];
    const text = line.slice(1);
    if (sign === "-") return [{ sign, text, number: before, at: before - hunk.old_start, old: before++, new: null }];
    if (sign === "+") return [{ sign, text, number: after, at: after - hunk.new_start, old: null, new: after++ }];
    if (sign === "\\") return [];
    return [{ sign: " ", text, number: after, at: after - hunk.new_start, old: before++, new: after++ }];
  });
}

/** The old and the new text of a hunk. */
export function sides({ lines }: Hunk): [string, string] {
  const without = (signs: string) =>
    lines.flatMap((line) => (signs.includes(line[0] ?? " ") ? [] : [line.slice(1)])).join("\n");
  return [without("+\\"), without("-\\")];
}

/** Mark the part that differs, if the lines start and end alike enough to be versions of one line. */
function markChanged(one: DiffLine, other: DiffLine): void {
  const [a, b] = [one.text, other.text];
  const least = Math.min(a.length, b.length);
  let head = 0;
  while (head < least && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < least - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  if ((head + tail) * 2 < least) return;
  one.changed = [head, a.length - tail];
  other.changed = [head, b.length - tail];
}
