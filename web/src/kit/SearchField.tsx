/** Where one types what to look for; Escape leaves it. */

import type { ReactNode } from "react";

interface Props {
  /** What it asks for, to those who cannot see the page too. */
  label: string;
  value: string;
  onChange(value: string): void;
  onEnter?(backwards: boolean): void;
  /** What came of it. */
  children?: ReactNode;
}

export function SearchField({ label, value, onChange, onEnter, children }: Props) {
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
          if (event.key !== "Escape") return;
          onChange("");
          event.currentTarget.blur();
        }}
      />
      {children}
    </div>
  );
}
