/** Marks a session that is being written now. */
export function LiveDot() {
  return <span className="live" role="img" aria-label="Live" title="Live: being written now" />;
}
