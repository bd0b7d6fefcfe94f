/** What the review before a session is shared comes to: what one has to do, and what will happen. */

import type { ShareFinding, ShareReview } from "../data/values";
import { exact, plural } from "../kit/format";

export const undecided = (findings: ShareFinding[]): number => findings.filter(({ decision }) => decision === null).length;

/** A review as it will be once the server has answered some decisions, by the ids of findings. */
export function withDecisions(review: ShareReview, decisions: Record<string, string>): ShareReview {
  const findings = review.findings.map((finding) => ({ ...finding, decision: decisions[finding.id] ?? finding.decision }));
  return { ...review, findings, undecided: undecided(findings) };
}

/** What one has to do before a session can be shared, and what will be replaced in it. */
export function summary(findings: ShareFinding[]): { todo: string; result: string } {
  const left = undecided(findings);
  const replaced = findings.filter(({ decision }) => decision === "replace");
  const personal = replaced.filter(({ level }) => level === "personal").length;
  const secrets = replaced.length - personal;
  const parts = [secrets ? plural(secrets, "secret") : "", personal ? plural(personal, "personal detail") : ""].filter(Boolean);
  return {
    todo: left ? `${exact(left)} to decide before it can be shared` : "Nothing left to decide",
    result: `${parts.join(" and ") || "nothing"} will be replaced`,
  };
}

/** The title and the count of what may be secrets: what is left to decide, or that all is decided. */
export function decisionTitle(findings: ShareFinding[]): [title: string, count: string] {
  const left = undecided(findings);
  if (left === 0) return ["Decided", exact(findings.length)];
  return ["To decide", left < findings.length ? `${exact(left)} of ${exact(findings.length)}` : exact(left)];
}
