/** The sessions that used the most. */

import { exactMoney, folder, money, tokens, exact } from "../kit/format";
import { PlainText, visible } from "../kit/PlainText";
import { sessionHref } from "../route";
import type { SessionUsage } from "../data/source";
import { number, tokensOf } from "./usageChart";

export function TopSessions({ rows }: { rows: SessionUsage[] }) {
  return (
    <ol className="top-sessions">
      {rows.map((row) => {
        const { listed } = row;
        const name = listed?.title || String(row.session ?? "unknown session");
        const project = folder(listed?.project ?? "");
        return (
          <li key={String(row.session)}>
            <span className="top-name" title={visible(name)}>
              {listed ? (
                <a href={sessionHref({ session: listed.key })}>
                  <PlainText text={name} />
                </a>
              ) : (
                <PlainText text={name} />
              )}
            </span>
            <PlainText className="top-project muted" title={project} text={project.split(/[\\/]/).at(-1) ?? ""} />
            <span className="num muted" title={`${exact(tokensOf(row))} tokens`}>
              {tokens(tokensOf(row))} tokens
            </span>
            <span className="num" title={row.cost_usd === null ? "No price for its models" : exactMoney(number(row, "cost_usd"))}>
              {row.cost_usd === null ? "–" : money(number(row, "cost_usd"))}
            </span>
          </li>
        );
      })}
    </ol>
  );
}
