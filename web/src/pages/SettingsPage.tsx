/** The settings: how pages look, times and weeks, prices and budgets, what is kept and where. */

import { useState, type ReactNode } from "react";
import { useSource } from "../contexts";
import { ChipGroup } from "../kit/ChipGroup";
import { capitalized, folder, model, money, plural, timeZone } from "../kit/format";
import { useKeptScroll } from "../kit/keepScroll";
import { DENSITIES, settings, WEEK_STARTS } from "../kit/settings";
import { saveTimeZone } from "../kit/storage";
import { useVersion } from "../kit/store";
import { chooseTheme, savedTheme, type Theme } from "../kit/theme";
import { useAsync } from "../kit/useAsync";
import { listHref } from "../route";
import { Bar } from "../shell/Bar";
import type { BudgetState } from "../data/source";
import type { ReaderSettings, Installation } from "../data/values";
import { BudgetField } from "./BudgetField";
import { periodName } from "./ColumnChart";
import { NotifyButton, notifyState } from "./NowPanel";

const THEMES = ["system", "light", "dark"] as const;
const BUDGETS = ["day", "week", "month"] as const;

export function SettingsPage() {
  useKeptScroll();
  return (
    <>
      <Bar page="settings" />
      <main className="usage settings">
        <h1>Settings</h1>
        <Appearance />
        <Times />
        <Budgets />
        <Notifications />
        <InstallationSection />
      </main>
    </>
  );
}

/** A setting: its name, then its value, then what it means. */
function Setting({ name, note, children }: { name: string; note?: ReactNode; children: ReactNode }) {
  return (
    <div className="setting">
      <h3>{name}</h3>
      <div>
        {children}
        {note && <p className="note">{note}</p>}
      </div>
    </div>
  );
}

function Appearance() {
  const [theme, setTheme] = useState<Theme | null>(savedTheme);
  useVersion(settings);
  return (
    <section aria-labelledby="appearance">
      <h2 id="appearance">Appearance</h2>
      <Setting name="Theme">
        <ChipGroup
          label="Theme"
          options={THEMES}
          value={theme ?? "system"}
          name={capitalized}
          onChoose={(name) => {
            const chosen = name === "system" ? null : name;
            chooseTheme(chosen);
            setTheme(chosen);
          }}
        />
      </Setting>
      <Setting name="Density" note="How much of a session is open at first.">
        <ChipGroup label="Density" options={DENSITIES} value={settings.density} name={capitalized} onChoose={(density) => settings.setDensity(density)} />
      </Setting>
      <Setting name="Diffs">
        <ChipGroup label="Diffs" options={[false, true]} value={settings.sideBySide} name={(beside) => (beside ? "Side by side" : "Inline")} onChoose={(beside) => beside !== settings.sideBySide && settings.toggleSideBySide()} />
      </Setting>
    </section>
  );
}

function Times() {
  useVersion(settings);
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <section aria-labelledby="times">
      <h2 id="times">Times</h2>
      <Setting name="Time zone" note="For dates, and for the days of usage and statistics.">
        <select
          aria-label="Time zone"
          value={timeZone ?? ""}
          onChange={(event) => {
            saveTimeZone(event.target.value);
            location.reload();
          }}
        >
          <option value="">This browser’s ({own})</option>
          {["UTC", ...Intl.supportedValuesOf("timeZone").filter((zone) => zone !== "UTC")].map((zone) => (
            <option key={zone} value={zone}>
              {zone}
            </option>
          ))}
        </select>
      </Setting>
      <Setting name="Week starts on" note="In the hours of the week. Weeks of usage and of budgets always start on Monday.">
        <ChipGroup label="Week starts on" options={WEEK_STARTS} value={settings.weekStart} onChoose={(day) => settings.setWeekStart(day)} />
      </Setting>
    </section>
  );
}

function Budgets() {
  const source = useSource();
  const stored = useAsync("settings", () => source.settings());
  const [changed, setChanged] = useState<ReaderSettings | null>(null);
  const states = useAsync(`budgets ${JSON.stringify(changed)}`, () => source.report<{ budgets: BudgetState[] }>("budgets"));
  const known = changed ?? (stored.state === "ready" ? stored.value : null);
  return (
    <section aria-labelledby="budgets">
      <h2 id="budgets">Budgets</h2>
      <Setting name="For everything" note="Usage draws it as a line. The status line, the digest and the list of running sessions warn before it is spent.">
        {known && BUDGETS.map((unit) => <BudgetField key={unit} unit={unit} settings={known} onChange={setChanged} />)}
      </Setting>
      <Setting
        name="Spent"
        note={
          <>
            Set one for a project or a model with <code>reread budget set 20/day --project DIR --model MODEL</code>.
          </>
        }
      >
        {states.state === "loading" && <p className="muted delayed">Counting…</p>}
        {states.state === "failed" && <p className="note error">{states.error.message}</p>}
        {states.state === "ready" && <BudgetStates states={states.value.budgets} />}
      </Setting>
    </section>
  );
}

/** What is spent of each budget. */
export function BudgetStates({ states }: { states: BudgetState[] }) {
  if (!states.length) return <p className="muted">No budgets are set.</p>;
  return (
    <ul className="budget-states">
      {states.map((state) => {
        const share = state.spent_usd / state.amount_usd;
        const over = state.left_usd < 0 || (state.forecast_usd ?? 0) > state.amount_usd;
        return (
          <li key={budgetName(state)} data-over={over}>
            <span>{budgetName(state)}</span>
            <meter min={0} max={1} high={0.8} optimum={0} value={Math.min(1, share)} aria-label={`Spent of the budget: ${budgetName(state)}`} />
            <span className="num">
              {money(state.spent_usd)} of {money(state.amount_usd)}
              {state.forecast_usd !== null && <span className="muted"> · forecast {money(state.forecast_usd)}</span>}
            </span>
          </li>
        );
      })}
    </ul>
  );
}

const PERIODS = { day: "Today", week: "This week", month: "This month" };

export const budgetName = ({ per, project, model: name }: BudgetState): string =>
  [PERIODS[per], project && folder(project), name && model(name)].filter(Boolean).join(" · ");

function Notifications() {
  const [state, setState] = useState(notifyState);
  const words: Record<string, string> = {
    granted: "The browser tells you when a session waits for you or dies, while you look elsewhere.",
    denied: "This browser does not allow it. Change that in its own settings for this address.",
    default: "",
  };
  return (
    <section aria-labelledby="notifications">
      <h2 id="notifications">Notifications</h2>
      <Setting name="In this browser" note={words[state]}>
        {state === "default" ? <NotifyButton onChange={setState} /> : state === "granted" ? "On" : "Off"}
      </Setting>
    </section>
  );
}

function InstallationSection() {
  const source = useSource();
  const setup = useAsync("setup", () => source.setup());
  if (setup.state === "failed") return <p className="note error">{setup.error.message}</p>;
  if (setup.state === "loading") return <p className="muted delayed">Loading…</p>;
  return <Folders setup={setup.value} />;
}

function Folders({ setup }: { setup: Installation }) {
  const { version, prices, price_file, roots, store, cache, archives, kept, only_kept } = setup;
  return (
    <section aria-labelledby="installation">
      <h2 id="installation">Prices, copies and folders</h2>
      <Setting
        name="Prices"
        note={
          price_file ? null : (
            <>
              Set <code>REREAD_PRICES</code> to a file of your own to change some of them.
            </>
          )
        }
      >
        List prices of {periodName(prices)}
        {price_file && (
          <>
            , changed by <code>{price_file}</code>
          </>
        )}
      </Setting>
      <Setting
        name="Kept copies"
        note={
          <>
            Claude Code deletes sessions after 30 days. <code>reread keep --install</code> copies them every hour.
          </>
        }
      >
        <a href={listHref({ only: { kept: "1" } })}>{plural(kept + only_kept, "session")}</a>
        {only_kept > 0 && `, ${only_kept} of them only as a copy`}
        <Paths paths={archives} />
      </Setting>
      <Setting name="Sessions are read from">
        <Paths paths={roots} />
      </Setting>
      <Setting name="reread’s own folder" note="Captured conversations, budgets, stars and notes.">
        <Paths paths={[store]} />
      </Setting>
      <Setting name="Cache" note="What was counted and indexed. It can be deleted; reread rebuilds it.">
        <Paths paths={[cache]} />
      </Setting>
      <Setting name="Version">{version}</Setting>
    </section>
  );
}

const Paths = ({ paths }: { paths: string[] }) => (
  <ul>
    {paths.map((path) => (
      <li key={path}>
        <code>{path}</code>
      </li>
    ))}
  </ul>
);
