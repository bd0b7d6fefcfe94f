/** Requests of the review before a session is shared. */

import type { ShareChoices, ShareReview } from "./values";

const address = (session: string) => `api/sessions/${encodeURIComponent(session)}/share`;

export type ShareChange =
  | { action: "decide"; ids: string[]; decision: "replace" | "keep"; everywhere?: boolean }
  | { action: "text"; text: string }
  | { action: "choose"; choices: ShareChoices };

export const FORMATS = ["html", "markdown", "json", "jsonl"] as const;

export const shareDocumentUrl = (session: string, form: string) => `${address(session)}/document?form=${form}`;

/** The HTML document, shown instead of downloaded. */
export const sharePreviewUrl = (session: string) => `${address(session)}/document?preview=1`;

export const loadReview = (session: string): Promise<ShareReview> => request(address(session));

export const changeReview = (session: string, change: ShareChange): Promise<ShareReview> =>
  request(address(session), { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(change) });

async function request(url: string, init?: RequestInit): Promise<ShareReview> {
  const response = await fetch(url, init);
  if (response.ok) return (await response.json()) as ShareReview;
  const body = await response.text();
  throw new Error(body.startsWith("{") ? String((JSON.parse(body) as { error: unknown }).error) : body);
}
