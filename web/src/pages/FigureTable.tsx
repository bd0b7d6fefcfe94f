/** A table of figures: a row for each group, and their sum. */

import type { ReactNode } from "react";
import { FigureHead } from "../kit/FigureHead";
import { capitalized } from "../kit/format";
import { visible } from "../kit/PlainText";

interface Props<Row> {
  label: string;
  group: string;
  /** The names of the figures. */
  figures: string[];
  rows: Row[];
  totals: Row;
  name(row: Row): ReactNode;
  /** What the name is short for. */
  title?: ((row: Row) => string) | undefined;
  /** The cells of the figures. */
  cells(row: Row): ReactNode;
}

export function FigureTable<Row>({ label, group, figures, rows, totals, name, title, cells }: Props<Row>) {
  return (
    <div className="scrolls" tabIndex={0} role="region" aria-label={label}>
      <table className="figures">
        <FigureHead group={capitalized(group)} figures={figures} />
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              <th scope="row" className="group" title={title && visible(title(row))}>
                {name(row)}
              </th>
              {cells(row)}
            </tr>
          ))}
        </tbody>
        {rows.length > 1 && (
          <tfoot>
            <tr>
              <th scope="row">Total</th>
              {cells(totals)}
            </tr>
          </tfoot>
        )}
      </table>
    </div>
  );
}
