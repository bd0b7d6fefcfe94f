import { expect, test } from "vitest";
import type { ShareFinding, ShareReview } from "../src/data/values";
import { decisionTitle, summary, withDecisions } from "../src/session/shareReview";

const finding = (id: string, level: string, decision: string | null): ShareFinding => ({
  id, level, decision, kind: "password", mask: "h…", replacement: `[redacted-password-${id}]`, count: 1, file: "", line: 1, context: "", name: "",
});

const review: ShareReview = {
  findings: [finding("1", "likely", null), finding("2", "likely", null), finding("3", "certain", "replace"), finding("4", "personal", "replace")],
  undecided: 2,
  choices: { turns: "", thinking: true, agents: true, images: false },
};

const shown = (decisions: Record<string, string>) => {
  const { findings, undecided } = withDecisions(review, decisions);
  const { todo, result } = summary(findings);
  return [undecided, todo, result, decisionTitle(findings.filter(({ level }) => level === "likely")).join(" ")];
};

test("what is to be decided follows each decision", () => {
  expect(shown({})).toEqual([2, "2 to decide before it can be shared", "1 secret and 1 personal detail will be replaced", "To decide 2"]);
  expect(shown({ 1: "replace" })).toEqual([1, "1 to decide before it can be shared", "2 secrets and 1 personal detail will be replaced", "To decide 1 of 2"]);
  expect(shown({ 1: "replace", 2: "keep" })).toEqual([0, "Nothing left to decide", "2 secrets and 1 personal detail will be replaced", "Decided 2"]);
  expect(review.undecided).toBe(2);
});

test("a session without findings has nothing to decide", () => {
  expect(summary([])).toEqual({ todo: "Nothing left to decide", result: "nothing will be replaced" });
});
