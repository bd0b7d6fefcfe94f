/** The names of the columns, once above the list; each sorts by its column. */

import { clickedSort, type Sort, type SortName } from "./groupSessions";

const COLUMNS: [by: SortName, name: string][] = [
  ["title", "Session"],
  ["branch", "Branch"],
  ["updated", "Updated"],
  ["turns", "Turns"],
  ["tokens", "Tokens"],
  ["cost", "Cost"],
  ["changed", "Changed"],
  ["model", "Model"],
];

interface Props {
  sort: Sort;
  onSort(sort: string): void;
  /** Why costs are lower bounds; empty if they are not. */
  lowerBound: string;
}

export function ColumnHeads({ sort, onSort, lowerBound }: Props) {
  return (
    <div className="column-heads" role="group" aria-label="Sort by">
      {COLUMNS.map(([by, name]) => {
        const on = sort.by === by;
        return (
          <span key={by} className={`head-${by}`}>
            <button type="button" aria-pressed={on} title={by === "cost" && lowerBound ? lowerBound : undefined} onClick={() => onSort(clickedSort(sort, by))}>
              {by === "cost" && lowerBound && "≥ "}
              {name}
              {on && <span aria-label={sort.reversed ? "reversed" : undefined}>{(sort.reversed ? " ▴" : " ▾")}</span>}
            </button>
          </span>
        );
      })}
    </div>
  );
}
