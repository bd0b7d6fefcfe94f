/** The kinds of message, as a reader names them. */
export const KIND_NAMES: Record<string, string> = {
  prompt: "Prompt",
  command: "Command",
  response: "Response",
  run: "Calls",
  compaction: "Compaction",
  output: "Command output",
  notification: "Notification",
  interrupt: "Interrupted",
  hook: "Hook",
  error: "Error",
  notice: "Notice",
  summary: "Summary",
  meta: "Claude Code",
};
