/** Where agents are in the outline: under the turn that started them, each after the one that started it. */

import type { AgentInfo, Overview } from "../data/values";

export interface PlacedAgent {
  agent: AgentInfo;
  /** How many agents are between it and the turn. */
  depth: number;
}

export interface PlacedAgents {
  /** By the number of the turn. */
  turns: Map<number, PlacedAgent[]>;
  /** Those that no turn of this thread started. */
  others: PlacedAgent[];
}

export function placeAgents({ agents, agent_turns: starts }: Pick<Overview, "agents" | "agent_turns">): PlacedAgents {
  const children = new Map<string | null, AgentInfo[]>();
  for (const agent of agents) append(children, agent.parent, [agent]);
  const known = new Set(agents.map(({ id }) => id));
  const seen = new Set<string>();
  const tree = (root: AgentInfo): PlacedAgent[] => {
    const found: PlacedAgent[] = [];
    const waiting: PlacedAgent[] = [{ agent: root, depth: 0 }];
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const { agent, depth } = next;
      if (seen.has(agent.id)) continue;
      seen.add(agent.id);
      found.push(next);
      for (const child of (children.get(agent.id) ?? []).toReversed()) waiting.push({ agent: child, depth: depth + 1 });
    }
    return found;
  };
  const turns = new Map<number, PlacedAgent[]>();
  for (const agent of agents) {
    const turn = starts[agent.id];
    if (turn !== undefined) append(turns, turn, tree(agent));
  }
  const others = agents.filter(({ parent }) => parent === null || !known.has(parent)).flatMap(tree);
  return { turns, others };
}

function append<K, V>(lists: Map<K, V[]>, key: K, values: V[]): void {
  const list = lists.get(key);
  if (list) for (const value of values) list.push(value);
  else lists.set(key, values);
}
