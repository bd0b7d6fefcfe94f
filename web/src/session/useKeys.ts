/** One key, one deed; nothing while one types. */

import { useEffect } from "react";

export type Deeds = Record<string, (event: KeyboardEvent) => void>;

const TYPING = "input, textarea, select, [contenteditable]";

export function useKeys(deeds: Deeds): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const target = event.target as Element | null;
      if (target?.closest(TYPING)) return;
      // Space and Enter belong to a button or link that has the focus.
      if ((event.key === " " || event.key === "Enter") && target?.closest("button, a, summary")) return;
      const deed = deeds[event.key];
      if (!deed) return;
      event.preventDefault();
      deed(event);
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  });
}
