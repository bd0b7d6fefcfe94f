/** The keyboard shortcuts. Keys, the list of shortcuts and the palette all follow this table. */

import { useKeys } from "../kit/useKeys";
import { useActions } from "./actions";

interface Shortcut {
  /** The keys and what they do, as the list of shortcuts says it. */
  keys: string;
  help: string;
  /** The commands of each key, of which a page has one at a time. A command with a name is in the palette, too. */
  commands: readonly (readonly [key: string, command: string, name?: string])[];
}

export const SHORTCUTS = [
  { keys: "j / k", help: "Next / previous turn", commands: [["j", "nextTurn"], ["k", "previousTurn"], ["j", "nextRow"], ["k", "previousRow"]] },
  {
    keys: "n / p",
    help: "Next / previous call, or difference of two sessions",
    commands: [["n", "nextCall"], ["p", "previousCall"], ["n", "nextDifference"], ["p", "previousDifference"]],
  },
  { keys: "o or Enter", help: "Open or close the current call", commands: [["o", "toggleCall"], ["Enter", "toggleCall"]] },
  { keys: "e", help: "Next failed, denied or interrupted call", commands: [["e", "nextError", "Next failed, denied or interrupted call"]] },
  { keys: "t", help: "Show/hide all thinking", commands: [["t", "toggleThinking", "Show or hide all thinking"]] },
  { keys: "g then a number", help: "Go to a turn", commands: [["g", "typeTurn"]] },
  { keys: "gg / G", help: "Go to the start / end", commands: [["gg", "goToStart", "Go to the start"], ["G", "goToEnd", "Go to the end"]] },
  {
    keys: "v",
    help: "Show the timeline, or the messages again",
    commands: [["v", "showTimeline", "Show the timeline"], ["v", "showMessages", "Show the messages"]],
  },
  { keys: "[ / ]", help: "Previous / next branch", commands: [["[", "previousBranch"], ["]", "nextBranch"]] },
  { keys: "Space", help: "Play or pause", commands: [[" ", "play", "Play the session"], [" ", "pause", "Pause the replay"]] },
  {
    keys: "s",
    help: "Star this session, or the row",
    commands: [["s", "star", "Star this session"], ["s", "unstar", "Remove star"], ["s", "starRow"]],
  },
  { keys: "/", help: "Search", commands: [["/", "searchSession", "Search this session"], ["/", "searchAll"]] },
  { keys: "Ctrl K or ⌘ K", help: "Go to a session, a page or an action", commands: [["Mod+k", "palette"]] },
  { keys: "Esc", help: "Close the search, the panel, the palette or this list", commands: [["Escape", "close"]] },
  { keys: "?", help: "Show this list", commands: [["?", "shortcuts", "Keyboard shortcuts"]] },
] as const satisfies readonly Shortcut[];

export type Command = (typeof SHORTCUTS)[number]["commands"][number][1];

const COMMANDS = SHORTCUTS.flatMap<Shortcut["commands"][number]>(({ commands }) => commands);

/** Carry out these commands when their keys are pressed, or the palette names them. */
export function useShortcuts(commands: Partial<Record<Command, () => void>>, options?: { first: boolean }): void {
  const rows = Object.entries(commands).flatMap(([command, run]) =>
    COMMANDS.flatMap(([key, of, name]) => (of === command ? [{ key, name, run }] : [])),
  );
  useKeys(Object.fromEntries(rows.map(({ key, run }) => [key, run])), options);
  useActions(rows.flatMap(({ key, name, run }) => (name ? [{ name, keys: key === " " ? "Space" : key, run }] : [])));
}
