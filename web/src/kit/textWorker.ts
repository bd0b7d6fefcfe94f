/** The worker that parses Markdown and highlights code, so that no text can freeze the page. */

import { tokenLines } from "./highlighter";
import { markdownTree } from "./markdownTree";
import type { Task } from "./offThread";

addEventListener("message", ({ data }: MessageEvent<Task>) => {
  postMessage(data.kind === "markdown" ? markdownTree(data.text) : tokenLines(data.text, data.language));
});
