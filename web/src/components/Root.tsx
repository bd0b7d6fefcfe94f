/** The element that the styles apply to, with the state of what is expanded in it; only the outermost one of a page. */

import { use, useState, type ReactNode } from "react";
import { ExpandedContext } from "../contexts";
import { Expanded } from "../expanded";

interface Props {
  theme?: "light" | "dark" | undefined;
  className?: string | undefined;
  children: ReactNode;
}

export function Root({ theme, className = "", children }: Props) {
  const outer = use(ExpandedContext);
  const [own] = useState(() => new Expanded());
  if (outer) return children;
  return (
    <div className={`reread ${className}`.trim()} data-theme={theme}>
      <ExpandedContext value={own}>{children}</ExpandedContext>
    </div>
  );
}
