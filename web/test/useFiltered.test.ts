import { expect, test } from "vitest";
import { conversationOf } from "../src/session/useFiltered";

test("a conversation is the prompts and the last text of each turn", () => {
  const prompts = { indices: [0, 5, 9], turns: [1, 2, 3], done: true };
  const texts = { indices: [1, 3, 4, 7], turns: [1, 1, 1, 2], done: true };
  expect(conversationOf(prompts, texts)).toEqual({ indices: [0, 4, 5, 7, 9], turns: [1, 1, 2, 2, 3], done: true });
});
