/** The budget for a day, a week or a month: a line in the chart. */

import { useEffect, useState } from "react";
import { useSource } from "../contexts";
import { toError } from "../kit/toError";
import type { ReaderSettings } from "../data/values";

interface Props {
  unit: keyof ReaderSettings;
  settings: ReaderSettings;
  onChange(settings: ReaderSettings): void;
}

export function BudgetField({ unit, settings, onChange }: Props) {
  const source = useSource();
  const known = settings[unit];
  const [text, setText] = useState("");
  const [error, setError] = useState<string | null>(null);
  useEffect(() => setText(known === null ? "" : String(known)), [known, unit]);
  const save = () => {
    const amount = text.trim() === "" ? null : Number(text);
    if (amount === known) return;
    if (amount !== null && !(amount > 0)) {
      setError("Type an amount above 0, or nothing.");
      return;
    }
    source.changeSettings({ [unit]: amount }).then(
      (changed) => {
        setError(null);
        onChange(changed);
      },
      (failed: unknown) => setError(toError(failed).message),
    );
  };
  return (
    <form
      className="budget"
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <label>
        Budget per {unit} $
        <input inputMode="decimal" size={6} placeholder="none" value={text} onChange={(event) => setText(event.target.value)} onBlur={save} />
      </label>
      {error && (
        <span className="note error" role="alert">
          {error}
        </span>
      )}
    </form>
  );
}
