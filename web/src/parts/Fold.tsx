/** A line that opens. */

import type { ReactNode } from "react";
import { useReading } from "../contexts";
import { Opener } from "../kit/Opener";
import { usePicked } from "../kit/store";

interface Props {
  /** What it is called where it is remembered to be open. */
  name: string;
  byDefault?: boolean;
  className?: string;
  line: ReactNode;
  aside?: ReactNode;
  children: () => ReactNode;
}

export function Fold({ name, byDefault = false, className = "", line, aside, children }: Props) {
  const { opened } = useReading();
  const open = usePicked(opened, () => opened.isOpen(name, byDefault));
  return (
    <div className={`fold ${className}${open ? " open" : ""}`}>
      <div className="fold-line">
        <Opener open={open} onToggle={() => opened.toggle(name)}>
          {line}
        </Opener>
        {aside}
      </div>
      {open && <div className="within">{children()}</div>}
    </div>
  );
}
