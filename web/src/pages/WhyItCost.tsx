/** Why it cost so much: output, input, what the cache saved and what it cost, and why it was written again. */

import { useSource } from "../contexts";
import { money, plural, share } from "../kit/format";
import { useCount } from "../kit/useAsync";
import type { CostParts } from "../data/values";
import type { Range } from "./columns";
import type { ReportOnly } from "./reportParts";

const PARTS: [name: string, value: (parts: CostParts) => number][] = [
  ["output", (parts) => parts.output_usd],
  ["new input", (parts) => parts.input_usd],
  ["cache reads", (parts) => parts.cache_read_usd],
  ["cache writes, first time", (parts) => parts.cache_first_usd],
  ["cache written again", (parts) => parts.cache_again_usd],
  ["web searches", (parts) => parts.searches_usd],
];
/** The causes of cache breaks, as people say them. */
const CAUSES: Record<string, string> = { idle_over_5m: "idle over 5 minutes", idle_over_1h: "idle over an hour" };

export function WhyItCost({ range: [since, until], only }: { range: Range; only: ReportOnly }) {
  const source = useSource();
  const loaded = useCount(`${since} ${until} ${JSON.stringify(only)}`, () => source.costParts({ since, until, ...only }));
  if (loaded.state === "failed") return <p className="note error">{loaded.error.message}</p>;
  if (loaded.state === "loading") return <p className="muted delayed">Counting…</p>;
  const parts = loaded.value;
  const most = Math.max(...PARTS.map(([, value]) => value(parts)), 0);
  const again = parts.causes.reduce((sum, { cost_usd }) => sum + cost_usd, 0);
  const causes = parts.causes.slice(0, 3).map(({ cause, cost_usd }) => `${CAUSES[cause] ?? cause.replaceAll("_", " ")} ${share(again ? cost_usd / again : 0)}`);
  return (
    <>
      <ul className="bars">
        {PARTS.filter(([name, value]) => name !== "web searches" || value(parts) > 0).map(([name, value]) => (
          <li key={name}>
            <div>
              <span className="bar-name">{name}</span>
              <span className="bar-space" aria-hidden="true">
                <svg width="100%" height="12" preserveAspectRatio="none" viewBox="0 0 100 12">
                  <rect className={name === "cache written again" ? "series-stopped" : "series-5"} width={most ? (value(parts) / most) * 100 : 0} height="12" />
                </svg>
              </span>
              <span className="num">{money(value(parts))}</span>
            </div>
          </li>
        ))}
      </ul>
      {parts.pending ? <p className="note">Counting: {plural(parts.pending, "session")} left.</p> : null}
      {parts.breaks > 0 && (
        <p className="note">
          {plural(parts.breaks, "cache break")}: {causes.join(", ")}
          {parts.causes.length > 3 && " …"}
        </p>
      )}
    </>
  );
}
