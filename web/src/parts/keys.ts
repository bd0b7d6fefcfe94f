/** The keys under which the store remembers what is expanded. */

import type { CallPart, TimelineItem } from "../data/values";

export const callKey = (call: Pick<CallPart, "index">): string => `call:${call.index}`;
/** That of the prompt and the result of a call that has agents. */
export const bodyKey = (call: Pick<CallPart, "index">): string => `body:${call.index}`;
export const runKey = (item: TimelineItem): string => `run:${item.key}`;
export const thinkingKey = (item: TimelineItem, at: number): string => `thinking:${item.key}:${at}`;
export const summaryKey = (item: TimelineItem, at: number): string => `summary:${item.key}:${at}`;
export const detailsKey = (item: TimelineItem, at: number): string => `details:${item.key}:${at}`;
