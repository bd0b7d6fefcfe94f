import { Plain } from "../kit/visible";
import { exact } from "../kit/words";
import { useReading } from "../contexts";
import { usePicked } from "../kit/store";
import type { Table as TableNode } from "../values";
import type { NodeProps } from "./drawing";

const FIRST = 40;

export function Table({ node, place }: NodeProps<TableNode>) {
  const { opened } = useReading();
  const key = `rows:${place}`;
  const all = usePicked(opened, () => opened.isOpen(key));
  const rows = all ? node.rows : node.rows.slice(0, FIRST);
  return (
    <div className="table-node">
      <div className="scrolls" tabIndex={0} role="region" aria-label="table">
        <table>
          <thead>
            <tr>
              {node.columns.map((column, index) => (
                <th key={index} scope="col">
                  <Plain text={column} />
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, index) => (
              <tr key={index}>
                {row.map((cell, at) => (
                  <td key={at} className={/^[-+$]?[\d.,]+%?$/.test(cell) ? "num" : undefined}>
                    <Plain text={cell} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {node.rows.length > FIRST && (
        <button type="button" className="more" onClick={() => opened.toggle(key)}>
          {all ? "fewer rows" : `all ${exact(node.rows.length)} rows`}
        </button>
      )}
    </div>
  );
}
