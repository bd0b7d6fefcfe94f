import { expect, test } from "vitest";
import { jsonSource } from "../src/components/jsonSource";
import { JsonThread } from "../src/components/jsonThread";
import type { ContentBlock, SessionCall, SessionMessage } from "../src/components/sessionJson";

const message = (kind: string, blocks: ContentBlock[], text = ""): SessionMessage => ({
  id: kind, role: "user", kind, timestamp: null, model: null, text, blocks,
});
const call = (more: Partial<SessionCall>): SessionCall => ({ id: "c", name: "Bash", input: { command: "ls\n-a" }, result: null, ...more });
const drawn = (blocks: ContentBlock[], calls: SessionCall[] = []) => new JsonThread({ messages: [message("response", blocks)], calls }).items[0]?.parts;

test("a call has the state and the title of its JSON, or those of its input and result", () => {
  const block = { type: "tool_use", id: "c", name: "Bash", input: { command: "ls\n-a" } };
  expect(drawn([block])).toMatchObject([{ part: "call", label: "Bash", title: "ls", state: "running", index: 0 }]);
  expect(drawn([block], [call({ title: "Bash ls", result: { type: "tool_result", is_error: true } })])).toMatchObject([
    { label: "Bash", title: "ls", state: "failed" },
  ]);
  expect(drawn([block], [call({ title: "List the files", state: "denied" })])).toMatchObject([{ label: "", title: "List the files", state: "denied" }]);
});

test("a result is shown with its call, and by itself if there is none", () => {
  const result = { type: "tool_result", tool_use_id: "c", content: "done" };
  expect(drawn([result], [call({})])).toEqual([]);
  expect(drawn([result])).toMatchObject([{ part: "nodes", title: "", nodes: [{ node: "terminal", text: "done" }] }]);
});

test("what Claude Code says to itself is closed, with its pictures", () => {
  const picture = { type: "image", source: { media_type: "image/png", data: "" } };
  const { items } = new JsonThread({ messages: [message("meta", [{ type: "text", text: "<x>Hi</x>" }, picture], "Hi")], calls: [] });
  expect(items[0]?.parts).toMatchObject([{ part: "nodes", title: "Text", nodes: [{ node: "prose", text: "Hi" }, { node: "picture" }] }]);
});

test("a call leads to the thread of its agent", async () => {
  const agent = { id: "a", type: "Explore", prompt: "Look", messages: [message("prompt", [], "Look")], calls: [call({ state: "failed" })] };
  const conversation = { messages: [message("response", [{ type: "tool_use", id: "c" }])], calls: [call({ agent: "a" })], agents: { a: agent } };
  const thread = new JsonThread(conversation);
  expect(thread.items[0]?.parts).toMatchObject([{ agents: [{ id: "a", type: "Explore", calls: 1, errors: 1 }] }]);
  const source = jsonSource(thread, conversation);
  expect((await source.page({ session: "", agent: "a" }, 0, 50)).items).toMatchObject([{ kind: "prompt", parts: [{ text: "Look" }] }]);
  expect((await source.call({ session: "" }, 0)).nodes).toEqual([{ node: "data", value: { command: "ls\n-a" } }]);
});
