/** What each key does. */

const KEYS: [string, string][] = [
  ["j / k", "next, previous turn"],
  ["n / p", "next, previous call"],
  ["o or Enter", "open or close the call"],
  ["e", "next error"],
  ["t", "thinking, everywhere"],
  ["g then a number", "go to a turn; gg top, G end"],
  ["[ / ]", "previous, next branch"],
  ["space", "play, pause"],
  ["/", "search or filter"],
  ["Esc", "leave the search, close this"],
  ["?", "this list"],
];

export function Keys({ onClose }: { onClose(): void }) {
  return (
    <aside className="keys" aria-label="keys">
      <div className="keys-head">
        <h2>Keys</h2>
        <button type="button" className="quiet" onClick={onClose}>
          close
        </button>
      </div>
      <dl>
        {KEYS.map(([key, does]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </aside>
  );
}
