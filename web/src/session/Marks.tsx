/** One small mark for each call, in order. Shapes differ as well as colours. */

import { memo } from "react";
import { plural } from "../kit/format";

const STEP = 8;
const ROW = 20;

/** The shape of each letter in `OutlineTurn.marks`, in a box of 6 by 6. */
const SHAPES: Record<string, [name: string, path: string]> = {
  ".": ["done", "M1 1h4v4h-4z"],
  e: ["edit", "M0 0h6v6h-6z"],
  a: ["agent", "M3 0l3 3l-3 3l-3-3z"],
  x: ["failed", "M0 1l1-1l2 2l2-2l1 1l-2 2l2 2l-1 1l-2-2l-2 2l-1-1l2-2z"],
  "?": ["stopped", "M0 2h6v2h-6z"],
  r: ["running", "M2 2h2v2h-2z"],
};

export const Marks = memo(function Marks({ marks }: { marks: string }) {
  if (!marks) return null;
  const rows = Math.ceil(marks.length / ROW);
  return (
    <svg
      className="marks"
      width={Math.min(marks.length, ROW) * STEP}
      height={rows * STEP}
      role="img"
      aria-label={plural(marks.length, "call")}
    >
      {Object.entries(SHAPES).map(([letter, [name, shape]]) => {
        const path = [...marks].flatMap((mark, at) => (mark === letter ? [inCell(shape, at)] : [])).join("");
        return path && <path key={name} className={`mark-${name}`} d={path} />;
      })}
    </svg>
  );
});

/** The shape, moved to its cell in the grid. */
function inCell(shape: string, at: number): string {
  const x = (at % ROW) * STEP + 1;
  const y = Math.floor(at / ROW) * STEP + 1;
  return shape.replace(/^M(\d+) (\d+)/, (_, left: string, top: string) => `M${x + Number(left)} ${y + Number(top)}`);
}
