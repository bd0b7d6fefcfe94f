/** A search field; Escape clears and leaves it. */

import type { ReactNode } from "react";

interface Props {
  label: string;
  value: string;
  onChange(value: string): void;
  onEnter?(backwards: boolean): void;
  /** The arrow key down: go to the results. */
  onDown?(): void;
  /** The result count. */
  children?: ReactNode;
}

export function SearchField({ label, value, onChange, onEnter, onDown, children }: Props) {
  return (
    <div className="search" role="search">
      <input
        type="search"
        placeholder={label}
        aria-label={label}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") onEnter?.(event.shiftKey);
          if (event.key === "ArrowDown" && onDown) {
            event.preventDefault();
            onDown();
          }
          if (event.key !== "Escape") return;
          onChange("");
          event.currentTarget.blur();
        }}
      />
      {children}
    </div>
  );
}
