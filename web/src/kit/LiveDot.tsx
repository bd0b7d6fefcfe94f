/** Marks a session or an agent that runs now. */
export function LiveDot() {
  return <span className="live" role="img" aria-label="Running" title="Running now" />;
}
