/** A fork: an SVG, because few fonts have such a character. */
export function ForkIcon() {
  return (
    <svg className="fork-icon" width="10" height="12" viewBox="0 0 10 12" aria-hidden="true">
      <path d="M5 12V7L1.5 3V0M5 7l3.5-4V0" />
    </svg>
  );
}
