/** Buttons to the one before and the next. */

interface Props {
  /** What they lead to: "turn" or "request". */
  what: string;
  at: number;
  last: number;
  onStep(by: number): void;
}

export function Steps({ what, at, last, onStep }: Props) {
  const button = (by: number, name: string, sign: string, disabled: boolean) => (
    <button type="button" className="link-button" aria-label={`${name} ${what}`} title={`${name} ${what}`} disabled={disabled} onClick={() => onStep(by)}>
      {sign}
    </button>
  );
  return (
    <span className="steps">
      {button(-1, "Previous", "‹", at <= 1)}
      {button(1, "Next", "›", at >= last)}
    </span>
  );
}
