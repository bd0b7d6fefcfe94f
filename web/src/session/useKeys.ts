/** One key, one deed; nothing while one types. */

import { useEffect } from "react";

export type Deeds = Record<string, (event: KeyboardEvent) => void>;

const TYPING = "input, textarea, select, [contenteditable]";

/** Keys that belong to what has the focus. */
const PRESSED: Record<string, string> = { " ": "button", Enter: "button, a" };

export function useKeys(deeds: Deeds): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const target = event.target as Element | null;
      if (target?.closest(TYPING)) return;
      if (PRESSED[event.key] && target?.closest(PRESSED[event.key] as string)) return;
      const deed = deeds[event.key];
      if (!deed) return;
      event.preventDefault();
      deed(event);
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  });
}
