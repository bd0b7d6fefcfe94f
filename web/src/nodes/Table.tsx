import { PlainText } from "../kit/PlainText";
import { exact } from "../kit/format";
import { useExpanded } from "../contexts";
import { useSelector } from "../kit/store";
import type { Table as TableNode } from "../values";
import type { NodeProps } from "./nodeProps";

const FIRST = 40;

export function Table({ node, place }: NodeProps<TableNode>) {
  const expanded = useExpanded();
  const key = `rows:${place}`;
  const all = useSelector(expanded, () => expanded.has(key));
  const rows = all ? node.rows : node.rows.slice(0, FIRST);
  return (
    <div className="table-node">
      <div className="scrolls" tabIndex={0} role="region" aria-label="table">
        <table>
          <thead>
            <tr>
              {node.columns.map((column, index) => (
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
                    <PlainText text={cell} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {node.rows.length > FIRST && (
        <button type="button" className="show-more" onClick={() => expanded.toggle(key)}>
          {all ? "Show fewer rows" : `Show all ${exact(node.rows.length)} rows`}
        </button>
      )}
    </div>
  );
}
