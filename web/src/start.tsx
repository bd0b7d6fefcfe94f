import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { kept } from "./kit/kept";
import { applyTheme } from "./kit/theme";
import { App } from "./shell/App";
import type { Source } from "./data/source";
import "./styles/index.css";

export function start(source: Source): void {
  applyTheme();
  kept.start();
  history.scrollRestoration = "manual";
  const root = document.getElementById("root");
  if (root) {
    // Error boundaries show a fallback: nothing to report.
    createRoot(root, { onCaughtError: () => undefined }).render(
      <StrictMode>
        <App source={source} />
      </StrictMode>,
    );
  }
}
