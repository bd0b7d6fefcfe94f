/** A hunk as rows: numbered, paired for two columns, with what changed inside a line found. */

import type { Hunk } from "../values";

export interface DiffLine {
  sign: " " | "-" | "+";
  text: string;
  number: number;
  /** Where it differs from its partner, as a slice. */
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

/** The same rows one below the other: all that a run removed, then all that it added. */
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
    if (sign === "-") return [{ sign, text, number: before, old: before++, new: null }];
    if (sign === "+") return [{ sign, text, number: after, old: null, new: after++ }];
    if (sign === "\\") return [];
    return [{ sign: " ", text, number: after, old: before++, new: after++ }];
  });
}

/** The middle that differs, where the lines share enough of their ends to be the same line. */
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
