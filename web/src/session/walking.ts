/** Steps through the document: turns, calls, errors. */

import type { Reading } from "../reading";
import type { CallPart, Passage, TurnMark } from "../values";
import { callKey } from "../parts/ToolUseBlock";

const isCall = (part: Passage["parts"][number]): part is CallPart => part.part === "call";

export async function goTurn(reading: Reading, turn: number): Promise<void> {
  const mark = await turnMark(reading, turn);
  if (mark) await goTo(reading, mark.passage, null);
}

/** A turn by its number, or the nearest there is; an exported page may begin with a later one. */
async function turnMark(reading: Reading, turn: number): Promise<TurnMark | undefined> {
  const first = (await reading.loadTurn(0))?.index ?? 1;
  return reading.loadTurn(Math.max(0, Math.min(turn - first, reading.turns - 1)));
}

/** The next or previous turn; within a turn, going back first goes to its beginning. */
export async function stepTurn(reading: Reading, step: 1 | -1): Promise<void> {
  const { turn, top } = reading.position;
  if (step === 1) return goTurn(reading, turn + 1);
  const mark = await turnMark(reading, turn);
  return goTurn(reading, mark && top > mark.passage ? turn : turn - 1);
}

export async function stepCall(reading: Reading, step: 1 | -1): Promise<void> {
  const { position } = reading;
  for (let index = position.call === null ? position.top : await indexOfCall(reading, position.call); ; index += step) {
    if (index < 0 || index >= reading.total) return;
    const passage = await reading.load(index);
    const calls = passage?.parts.filter(isCall) ?? [];
    const fits = calls.filter((call) => position.call === null || (call.index - position.call) * step > 0);
    const next = step === 1 ? fits[0] : fits.at(-1);
    if (passage && next) {
      if (passage.kind === "run") reading.opened.open(`run:${passage.key}`);
      return goTo(reading, index, next.index);
    }
  }
}

async function indexOfCall(reading: Reading, call: number): Promise<number> {
  const { top } = reading.position;
  for (let away = 0; away < 50; away += 1) {
    for (const index of [top + away, top - away]) {
      const passage = reading.passage(index);
      if (passage?.parts.some((part) => isCall(part) && part.index === call)) return index;
    }
  }
  return top;
}

export async function nextError(reading: Reading): Promise<void> {
  const { position, source, thread } = reading;
  let start: number | null = (reading.errorAt ?? position.top - 1) + 1;
  while (start !== null) {
    const found = await source.filter(thread, { kinds: [], tools: [], errors: true }, start);
    const [index] = found.indices;
    if (index !== undefined) {
      reading.errorAt = index;
      const passage = await reading.load(index);
      const failed = passage?.parts.filter(isCall).find((call) => call.state === "failed");
      if (passage?.kind === "run") reading.opened.open(`run:${passage.key}`);
      return goTo(reading, index, failed?.index ?? null);
    }
    start = found.next;
  }
  reading.errorAt = null;
}

export function toggleCall(reading: Reading): void {
  const { call } = reading.position;
  if (call !== null) reading.opened.toggle(`call:${call}`);
}

/** Land on a passage, and on a call in it, opened or not. */
export async function goTo(reading: Reading, index: number, call: number | null, open = false): Promise<void> {
  const passage = await reading.load(index);
  const part = passage?.parts.filter(isCall).find((part) => part.index === call);
  if (part && open) reading.opened.open(callKey(part));
  if (passage?.kind === "run" && part) reading.opened.open(`run:${passage.key}`);
  reading.position.move(index, passage?.turn ?? null);
  reading.position.mark(passage?.key ?? null, call);
  reading.jumps.to({ index, call });
}
