/** The list of keyboard shortcuts. */

import { useKeys } from "../kit/useKeys";

const SHORTCUTS: [keys: string, action: string][] = [
  ["j / k", "Next / previous turn"],
  ["n / p", "Next / previous call"],
  ["o or Enter", "Open or close the current call"],
  ["e", "Next failed, denied or interrupted call"],
  ["t", "Show/hide all thinking"],
  ["g then a number", "Go to a turn"],
  ["gg / G", "Go to the start / end"],
  ["v", "Show the timeline, or the messages again"],
  ["[ / ]", "Previous / next branch"],
  ["Space", "Play or pause"],
  ["s", "Star this session, or the row"],
  ["/", "Search"],
  ["Ctrl K or ⌘ K", "Go to a session, a page or an action"],
  ["Esc", "Close the search, the palette or this list"],
  ["?", "Show this list"],
];

export function KeyboardShortcuts({ onClose }: { onClose(): void }) {
  useKeys({ Escape: onClose }, { first: true });
  return (
    <aside className="shortcuts" aria-label="Keyboard shortcuts">
      <div className="shortcuts-header">
        <h2>Keyboard shortcuts</h2>
        <button type="button" className="link-button" onClick={onClose}>
          Close
        </button>
      </div>
      <dl>
        {SHORTCUTS.map(([keys, action]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{action}</dd>
          </div>
        ))}
      </dl>
    </aside>
  );
}
