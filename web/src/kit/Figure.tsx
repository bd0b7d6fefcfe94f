/** Token counts and costs: tokens, with the exact number as the tooltip. */

import type { Figures } from "../data/values";
import { visible } from "./PlainText";
import { exact, exactMoney, money, plural, tokens } from "./format";

export function Count({ value, unit = "" }: { value: number | null | undefined; unit?: string }) {
  if (value === null || value === undefined) return <span className="num muted">–</span>;
  return (
    <span className="num" title={`${exact(value)}${unit ? ` ${unit}` : ""}`}>
      {tokens(value)}
    </span>
  );
}

type Bounds = Pick<Figures, "unconfirmed_responses" | "unpriced_models">;
type Costs = Bounds & Pick<Figures, "cost_usd">;

export function Cost({ figures }: { figures: Costs | null | undefined }) {
  if (!figures || figures.cost_usd === null) return <span className="num muted">–</span>;
  return (
    <span className="num" title={[exactMoney(figures.cost_usd), ...caveats(figures)].join("\n")}>
      {money(figures.cost_usd, isLowerBound(figures))}
    </span>
  );
}

/** Tokens, and their cost if there is one. */
export const TokensAndCost = ({ figures }: { figures: Figures }) => (
  <>
    <span>
      <Count value={figures.tokens} unit="tokens" /> tokens
    </span>
    {figures.cost_usd !== null && <Cost figures={figures} />}
  </>
);

const isLowerBound = (figures: Bounds): boolean =>
  figures.unconfirmed_responses > 0 || figures.unpriced_models.length > 0;

/** The name of a model that a response does not name. */
const UNKNOWN = "unknown";

/** What the figures leave out. */
export function caveats(figures: Bounds): string[] {
  const { unconfirmed_responses: open, unpriced_models: unpriced } = figures;
  return [
    ...(open ? [`Lower bound: ${plural(open, "response has", "responses have")} no final token count`] : []),
    ...(unpriced.length ? [`No price for ${unpriced.map((name) => (name === UNKNOWN ? "an unknown model" : visible(name))).join(", ")}: tokens are counted, cost is not`] : []),
  ];
}
