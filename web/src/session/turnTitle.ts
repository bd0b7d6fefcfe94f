import type { ThreadStore } from "../data/threadStore";

/** The words of a turn's prompt, if they are loaded. The first turn of an exported page may have any number. */
export const turnTitle = (store: ThreadStore, turn: number): string =>
  store.turn(turn - (store.turn(0)?.index ?? 1))?.title ?? "";
