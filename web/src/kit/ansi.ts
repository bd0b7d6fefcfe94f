/** Terminal output as styled runs: colours and text styles are kept, all other escape sequences are dropped. */

export interface Style {
  /** 0 to 15 of the palette, or `#rrggbb`. */
  color?: number | string;
  bold?: boolean;
  dim?: boolean;
  italic?: boolean;
  underline?: boolean;
  strike?: boolean;
  inverse?: boolean;
}

export interface Run extends Style {
  text: string;
}

// CSI, OSC and other string sequences, and two-character escapes; one pass, no backtracking.
const ESCAPE = /\x1b(?:\[([0-9:;<=>?]*)[ -/]*([@-~])|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)|[ -/]*[0-~]|$)|\x9b([0-9:;]*)([@-~])/g;

/** The text without escape sequences. */
export const stripAnsi = (text: string): string => (text.includes("\x1b") || text.includes("\x9b") ? text.replace(ESCAPE, "") : text);

/** The lines of terminal output, each a list of runs. */
export function ansiLines(text: string): Run[][] {
  let style: Style = {};
  return text.split("\n").map((line) => {
    const [runs, after] = lineRuns(afterReturns(line), style);
    style = after;
    return runs;
  });
}

/** What remains of a line after its carriage returns, each of which starts it over; those at its end belong to the end. */
function afterReturns(line: string): string {
  let end = line.length;
  while (line[end - 1] === "\r") end -= 1;
  return line.slice(line.lastIndexOf("\r", end - 1) + 1, end);
}

function lineRuns(line: string, before: Style): [Run[], Style] {
  if (!line.includes("\x1b") && !line.includes("\x9b")) return [line ? [{ ...before, text: line }] : [], before];
  const runs: Run[] = [];
  let style = before;
  let at = 0;
  for (const match of line.matchAll(ESCAPE)) {
    if (match.index > at) runs.push({ ...style, text: line.slice(at, match.index) });
    at = match.index + match[0].length;
    const [, codes = match[3], end = match[4]] = match;
    if (end === "m") style = restyled(style, codes ?? "");
  }
  if (at < line.length) runs.push({ ...style, text: line.slice(at) });
  return [runs, style];
}

const SWITCHES: Record<number, Style> = {
  1: { bold: true },
  2: { dim: true },
  3: { italic: true },
  4: { underline: true },
  7: { inverse: true },
  9: { strike: true },
  21: { underline: true },
  22: { bold: undefined, dim: undefined },
  23: { italic: undefined },
  24: { underline: undefined },
  27: { inverse: undefined },
  29: { strike: undefined },
  39: { color: undefined },
};

function restyled(style: Style, codes: string): Style {
  const numbers = codes.split(/[;:]/).map(Number);
  let next = style;
  for (let at = 0; at < numbers.length; at += 1) {
    const code = numbers[at] ?? 0;
    if (code === 0) next = {};
    else if (code >= 30 && code <= 37) next = { ...next, color: code - 30 };
    else if (code >= 90 && code <= 97) next = { ...next, color: code - 82 };
    else if (code === 38 || code === 48) {
      const [color, used] = extendedColor(numbers.slice(at + 1, at + 5));
      if (code === 38 && color !== undefined) next = { ...next, color };
      at += used;
    } else next = { ...next, ...SWITCHES[code] };
  }
  return next;
}

function extendedColor([mode, ...rest]: number[]): [number | string | undefined, number] {
  if (mode === 5) return [indexedColor(rest[0] ?? 0), 2];
  if (mode === 2) return [hex(rest[0] ?? 0, rest[1] ?? 0, rest[2] ?? 0), 4];
  return [undefined, 0];
}

function indexedColor(index: number): number | string {
  if (index < 16) return index;
  if (index >= 232) return hex(...([0, 0, 0].map(() => 8 + (index - 232) * 10) as [number, number, number]));
  const cube = index - 16;
  const level = (step: number) => (step ? 55 + step * 40 : 0);
  return hex(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6));
}

const hex = (...channels: [number, number, number]): string =>
  `#${channels.map((value) => Math.max(0, Math.min(255, value | 0)).toString(16).padStart(2, "0")).join("")}`;
