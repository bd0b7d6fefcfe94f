/** Keyboard shortcuts, ignored while the user types. */

import { useEffect } from "react";

export type KeyBindings = Record<string, (event: KeyboardEvent) => void>;

const INPUTS = "input, textarea, select, [contenteditable]";

/** Keys that the focused element handles itself. */
const HANDLED_BY: Record<string, string> = { " ": "button", Enter: "button, a" };

/** Act on these keys. What lies on top of the page asks for them `first`. */
export function useKeys(bindings: KeyBindings, { first = false } = {}): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const target = event.target as Element | null;
      if (target?.closest(INPUTS)) return;
      const handledBy = HANDLED_BY[event.key];
      if (handledBy && target?.closest(handledBy)) return;
      const action = bindings[event.key];
      if (!action) return;
      event.preventDefault();
      action(event);
    };
    addEventListener("keydown", pressed, { capture: first });
    return () => removeEventListener("keydown", pressed, { capture: first });
  });
}
