import { closedSource } from "../data/closedSource";
import { NotFound, type Source, type ThreadRef } from "../data/source";
import { JsonThread, type Conversation } from "./jsonThread";
import { resultNodes } from "./resultNodes";

/** The source for a conversation in JSON and its agents. */
export function jsonSource(main: JsonThread, { project, agents = {} }: Conversation): Source {
  const threads = new Map<string, JsonThread>();
  const threadOf = ({ agent: id }: ThreadRef): JsonThread => {
    const agent = id === undefined ? undefined : agents[id];
    if (id === undefined || !agent) return main;
    const thread = threads.get(id) ?? new JsonThread({ ...agent, project, agents });
    threads.set(id, thread);
    return thread;
  };
  return {
    ...closedSource("This is not in the JSON of the session."),
    overview: async (ref) => threadOf(ref).overview,
    page: async (ref, start, count) => {
      const { items } = threadOf(ref);
      return { start, total: items.length, stamp: 0, items: items.slice(start, start + count) };
    },
    call: async (ref, index) => {
      const call = threadOf(ref).calls[index];
      if (!call) throw new NotFound("This call is not in the JSON of the session.");
      const { id, input, result, nodes } = call;
      return { id, cut: [], nodes: nodes ?? [{ node: "data", value: input }, ...(result ? resultNodes([result]) : [])] };
    },
  };
}
