/** The tools of an MCP server as one row, which leads to the servers. */

import type { ReportRow } from "../data/source";
import { sumBy } from "./usageChart";

const PREFIX = "mcp__";

/** The server of a tool, or of a row of all its tools. */
export const serverOf = (row: ReportRow): string | null => /^mcp__(.+?)(?:__|$)/.exec(String(row.tool ?? ""))?.[1] ?? null;

/** True if a row is that of a server, not of a tool. */
export const isServer = (row: ReportRow): boolean => Boolean(row.tools);

export function byServer(rows: ReportRow[]): ReportRow[] {
  const servers = new Map<string, ReportRow[]>();
  for (const row of rows) {
    const name = serverOf(row);
    if (name) servers.set(name, [...(servers.get(name) ?? []), row]);
  }
  return rows.flatMap((row) => {
    const name = serverOf(row);
    const tools = (name && servers.get(name)) || [];
    if (!name || tools.length < 2) return [row];
    return tools[0] === row ? [{ ...sumBy(tools, () => name)[0], tool: `${PREFIX}${name}`, tools: tools.length }] : [];
  });
}
