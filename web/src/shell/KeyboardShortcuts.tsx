/** The list of keyboard shortcuts. */

import { SHORTCUTS, useShortcuts } from "./shortcuts";

export function KeyboardShortcuts({ onClose }: { onClose(): void }) {
  useShortcuts({ close: onClose }, { first: true });
  return (
    <aside className="shortcuts" aria-label="Keyboard shortcuts">
      <div className="shortcuts-header">
        <h2>Keyboard shortcuts</h2>
        <button type="button" className="link-button" onClick={onClose}>
          Close
        </button>
      </div>
      <dl>
        {SHORTCUTS.map(({ keys, help }) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{help}</dd>
          </div>
        ))}
      </dl>
    </aside>
  );
}
