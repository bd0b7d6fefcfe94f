import { useState } from "react";
import { PlainText } from "../kit/PlainText";
import { LongText } from "../kit/LongText";
import { exact } from "../kit/format";
import type { Table as TableNode } from "../data/values";
import type { NodeProps } from "./nodeProps";

/** How many rows and how many cells are shown at first, and with each step. */
const ROWS = 40;
const CELLS = 1500;
const COLUMNS = 100;

export function Table({ node }: NodeProps<TableNode>) {
  const [steps, setSteps] = useState(1);
  const [allColumns, setAllColumns] = useState(false);
  const columns = allColumns ? node.columns : node.columns.slice(0, COLUMNS);
  const step = Math.max(1, Math.min(ROWS, Math.floor(CELLS / Math.max(1, columns.length))));
  const rows = node.rows.slice(0, step * steps).map((row) => (allColumns ? row : row.slice(0, COLUMNS)));
  return (
    <div className="table-node">
      <div className="scrolls" tabIndex={0} role="region" aria-label="table">
        <table>
          <thead>
            <tr>
              {columns.map((column, index) => (
                <th key={index} scope="col">
                  <PlainText text={column} />
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, index) => (
              <tr key={index}>
                {row.map((cell, at) => (
                  <td key={at} className={/^[-+$]?[\d.,]+%?$/.test(cell) ? "num" : undefined}>
                    <LongText text={cell} first={2000} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {node.rows.length > rows.length && (
        <button type="button" className="show-more" onClick={() => setSteps(steps * 2)}>
          Show more rows ({exact(node.rows.length - rows.length)} left)
        </button>
      )}
      {node.columns.length > columns.length && (
        <button type="button" className="show-more" onClick={() => setAllColumns(true)}>
          Show all {exact(node.columns.length)} columns
        </button>
      )}
    </div>
  );
}
