/** Numbers on the screen: short, with the exact one in the title. */

import type { Figures } from "../values";
import { exact, exactMoney, money, plural, short } from "./words";

export function Count({ value, unit = "" }: { value: number | null | undefined; unit?: string }) {
  if (value === null || value === undefined) return <span className="num faint">–</span>;
  return (
    <span className="num" title={`${exact(value)}${unit ? ` ${unit}` : ""}`}>
      {short(value)}
    </span>
  );
}

export function Cost({ figures }: { figures: Figures | null | undefined }) {
  if (!figures || figures.cost_usd === null) return <span className="num faint">–</span>;
  const bound = isLowerBound(figures);
  return (
    <span className="num" title={[exactMoney(figures.cost_usd), ...caveats(figures)].join("\n")}>
      {bound && "≥ "}
      {money(figures.cost_usd)}
    </span>
  );
}

const isLowerBound = (figures: Figures): boolean =>
  figures.unconfirmed_responses > 0 || figures.unpriced_models.length > 0;

/** What figures leave out, in words. */
export function caveats(figures: Pick<Figures, "unconfirmed_responses" | "unpriced_models">): string[] {
  const { unconfirmed_responses: open, unpriced_models: unpriced } = figures;
  return [
    ...(open ? [`Incomplete: ${plural(open, "response has", "responses have")} no final token count`] : []),
    ...(unpriced.length ? [`No price for ${unpriced.join(", ")}: tokens counted, cost not`] : []),
  ];
}
