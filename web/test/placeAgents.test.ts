import { expect, test } from "vitest";
import { placeAgents } from "../src/session/placeAgents";
import type { AgentInfo } from "../src/data/values";

const agent = (id: string, parent: string | null = null) => ({ id, parent }) as AgentInfo;

const names = (placed: ReturnType<typeof placeAgents>["others"]) => placed.map(({ agent, depth }) => `${agent.id}${depth}`);

test("agents are under the turn that started them, each after the one that started it", () => {
  const agents = [agent("b"), agent("c", "a"), agent("a"), agent("d", "c"), agent("e", "a")];
  const { turns, others } = placeAgents({ agents, agent_turns: { a: 2, b: 2 } });
  expect([...turns.keys()]).toEqual([2]);
  expect(names(turns.get(2) ?? [])).toEqual(["b0", "a0", "c1", "d2", "e1"]);
  expect(others).toEqual([]);
});

test("agents of no turn here are listed too: this agent, its siblings, and those whose parent is missing", () => {
  const agents = [agent("a"), agent("b", "a"), agent("c", "b"), agent("d"), agent("e", "gone")];
  const { turns, others } = placeAgents({ agents, agent_turns: { b: 1 } });
  expect(names(turns.get(1) ?? [])).toEqual(["b0", "c1"]);
  expect(names(others)).toEqual(["a0", "d0", "e0"]);
});
