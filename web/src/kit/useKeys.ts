/** Keys that do something, ignored while the user types. */

import { useLayoutEffect } from "react";

export type KeyBindings = Record<string, () => void>;

const INPUTS = "input, textarea, select, [contenteditable]";

/** Keys that the focused element handles itself. */
const HANDLED_BY: Record<string, string> = { " ": "button", Enter: "button, a" };

/** Act on these keys; `Mod+k` is Ctrl-K or Cmd-K, also while the user types. What lies on top of the page asks for them `first`. */
export function useKeys(bindings: KeyBindings, { first = false } = {}): void {
  // Before the page is painted: an effect comes after it, on a slow machine later than the first key.
  useLayoutEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const action = bindings[nameOf(event)];
      if (!action || event.defaultPrevented) return;
      event.preventDefault();
      action();
    };
    addEventListener("keydown", pressed, { capture: first });
    return () => removeEventListener("keydown", pressed, { capture: first });
  });
}

function nameOf({ key, ctrlKey, metaKey, altKey, shiftKey, target }: KeyboardEvent): string {
  if (ctrlKey || metaKey || altKey) return ctrlKey === metaKey || altKey || shiftKey ? "" : `Mod+${key.toLowerCase()}`;
  const within = (selector: string | undefined) => selector !== undefined && (target as Element | null)?.closest?.(selector) != null;
  return within(INPUTS) || within(HANDLED_BY[key]) ? "" : key;
}
