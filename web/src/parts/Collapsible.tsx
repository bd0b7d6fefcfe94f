/** A header line with content that can be expanded below it. */

import type { ReactNode } from "react";
import { useExpanded } from "../contexts";
import { DisclosureButton } from "../kit/DisclosureButton";
import { useSelector } from "../kit/store";

interface Props {
  /** The key under which the store remembers that it is expanded. */
  name: string;
  byDefault?: boolean;
  className?: string;
  header: ReactNode;
  /** Shown at the end of the header, outside the button. */
  trailing?: ReactNode;
  /** Shown below the header, also while the content is closed. */
  below?: ReactNode;
  children: () => ReactNode;
}

export function Collapsible({ name, byDefault = false, className = "", header, trailing, below, children }: Props) {
  const expanded = useExpanded();
  const open = useSelector(expanded, () => expanded.has(name, byDefault));
  return (
    <div className={`collapsible ${className}${open ? " open" : ""}`}>
      <div className="collapsible-header">
        <DisclosureButton open={open} onToggle={() => expanded.toggle(name)}>
          {header}
        </DisclosureButton>
        {trailing}
      </div>
      {below}
      {open && <div className="indented">{children()}</div>}
    </div>
  );
}
