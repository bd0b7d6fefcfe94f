/** How the list is grouped and what it is narrowed to: chips that the address carries. */

import { useState } from "react";
import { capitalized, exact, isoDay } from "../kit/format";
import { visible } from "../kit/PlainText";
import { LIST_FILTERS, type Filters } from "../data/listFilters";
import type { LibraryRow } from "../data/values";
import { lastDays } from "./columns";
import { GROUPS, type Group } from "./groupSessions";
import { choicesOf, daysName, valueName } from "./libraryFilters";

interface Props {
  /** All sessions, of which the values come. */
  sessions: LibraryRow[];
  only: Filters;
  group: Group;
  onGroup(group: Group): void;
  /** Called with changes of the filters; an empty text removes one. */
  onChange(changes: Filters): void;
}

export function FilterBar({ sessions, only, group, onGroup, onChange }: Props) {
  return (
    <div className="filter-bar">
      <label className="group-by">
        Group{" "}
        <select value={group} onChange={(event) => onGroup(event.target.value as Group)}>
          {GROUPS.map((name) => (
            <option key={name} value={name}>
              {capitalized(name)}
            </option>
          ))}
        </select>
      </label>
      {CHOICES.map(([name]) => {
        const chosen = only[name];
        if (chosen !== undefined) return <ChosenChip key={name} name={name} value={valueName(name, chosen)} onRemove={() => onChange({ [name]: "" })} />;
        return <ValueChip key={name} name={name} label={`Filter by ${name}`} values={choicesOf(sessions, name)} onChoose={(value) => onChange({ [name]: value })} />;
      })}
      <When from={only.from} to={only.to} onChange={onChange} />
      {SWITCHES.filter(([name, { rare }]) => !rare || only[name]).map(([name, { title }]) => (
        <button key={name} type="button" className="chip" aria-pressed={only[name] !== undefined} onClick={() => onChange({ [name]: only[name] ? "" : "1" })}>
          {title}
        </button>
      ))}
      <MenuChip
        name="more"
        label="More filters"
        options={SWITCHES.flatMap(([name, { rare, title = name }]) => (rare && !only[name] ? [[name, title]] : []))}
        onChoose={(name) => onChange({ [name]: "1" })}
      />
    </div>
  );
}

const CHOICES = Object.entries(LIST_FILTERS).filter(([, { values }]) => values);
const SWITCHES = Object.entries(LIST_FILTERS).filter(([, { is }]) => is);

/** The values of a filter to choose from; nothing if there are none. */
export function ValueChip({ name, label, values, onChoose }: { name: string; label: string; values: [value: string, count: number][]; onChoose(value: string): void }) {
  return <MenuChip name={name} label={label} options={values.map(([value, count]) => [value, `${valueName(name, value)} (${exact(count)})`])} onChoose={onChoose} />;
}

/** A menu that adds a filter; nothing if there is nothing to choose. */
export function MenuChip({ name, label, options, onChoose }: { name: string; label: string; options: [value: string, text: string][]; onChoose(value: string): void }) {
  if (!options.length) return null;
  return (
    <select className="chip add" aria-label={label} value="" onChange={(event) => onChoose(event.target.value)}>
      <option value="">+ {name}</option>
      {options.map(([value, text]) => (
        <option key={value} value={value}>
          {visible(text)}
        </option>
      ))}
    </select>
  );
}

export function ChosenChip({ name, value, onRemove }: { name: string; value: string; onRemove(): void }) {
  return (
    <button type="button" className="chip on" title={visible(`${value}: remove this filter`)} onClick={onRemove}>
      <span className="chip-name">{name}:</span> <span className="chip-value">{visible(value)}</span> ×
    </button>
  );
}

/** The days to choose from, and the first and the last of each. */
const PERIODS: Record<string, () => [from: string | null, to: string]> = {
  today: () => lastDays(1),
  yesterday: () => {
    const [from] = lastDays(2);
    return [from, from ?? ""];
  },
  "7 days": () => lastDays(7),
  "30 days": () => lastDays(30),
  "this month": () => monthDays(0),
  "last month": () => monthDays(-1),
};
const OWN = "choose…";

/** The first and the last day of this month, or of another. */
export function monthDays(step: number, now = new Date()): [from: string, to: string] {
  const [year, month] = isoDay(now).split("-").map(Number) as [number, number];
  const day = (months: number, date: number) => new Date(Date.UTC(year, month - 1 + months, date)).toISOString().slice(0, 10);
  return [day(step, 1), day(step + 1, 0)];
}

function When({ from, to, onChange }: { from: string | undefined; to: string | undefined; onChange(changes: Filters): void }) {
  const [own, setOwn] = useState(false);
  if (own) {
    return (
      <span className="days">
        <input type="date" aria-label="From" value={from ?? ""} onChange={(event) => onChange({ from: event.target.value })} />–
        <input type="date" aria-label="To" value={to ?? ""} onChange={(event) => onChange({ to: event.target.value })} />
        <button type="button" className="chip" onClick={() => setOwn(false)}>
          Done
        </button>
      </span>
    );
  }
  if (from || to) return <ChosenChip name="when" value={daysName(from, to)} onRemove={() => onChange({ from: "", to: "" })} />;
  const choose = (name: string) => {
    const period = PERIODS[name];
    if (!period) {
      setOwn(true);
      return;
    }
    const [first, last] = period();
    onChange({ from: first ?? "", to: last });
  };
  return <MenuChip name="when" label="Filter by when" options={[...Object.keys(PERIODS), OWN].map((name) => [name, name])} onChoose={choose} />;
}
