/** What the session is, in two lines, and what can be done with all of it. */

import { useState } from "react";
import { useReading } from "../contexts";
import { Cost, Count, caveats } from "../kit/Figure";
import { useAsked } from "../kit/useAsked";
import { useVersion } from "../kit/store";
import { Plain } from "../kit/visible";
import { clock, day, duration, folder, fullTime, model, plural } from "../kit/words";
import { sessionHref } from "../route";
import type { Overview, Spent } from "../values";
import { About } from "./About";
import { AgentFigures } from "./AgentInPlace";
import { ContextChart } from "./ContextChart";
import { loadAll } from "./MessageList";

/** Figures are counted again after this many new passages. */
const STEP = 20;

export function SessionHead({ onPlay, playing }: { onPlay(): void; playing: boolean }) {
  const reading = useReading();
  useVersion(reading);
  const { overview, source, thread } = reading;
  const [about, setAbout] = useState(false);
  const asked = useAsked("spent", () => source.spent(thread), Math.floor(reading.total / STEP));
  const spent = asked.state === "here" ? asked.value : null;
  const exported = source.exported(thread);
  return (
    <header className="session-head">
      {overview.agent && (
        <p className="agent-of">
          ◇ agent of <a href={sessionHref({ session: thread.session })}>the session</a>
          {" · "}
          <AgentFigures agent={overview.agent} />
        </p>
      )}
      <div className="head-line">
        <h1 dir="auto">
          {overview.live && <LiveDot />}
          <Plain text={overview.title} />
        </h1>
        <Totals overview={overview} spent={spent} />
      </div>
      <div className="head-line">
        <Where overview={overview} />
        <p className="head-actions">
          <button type="button" className="quiet" aria-expanded={about} onClick={() => setAbout(!about)}>
            about
          </button>
          {exported && (
            <a className="quiet" href={exported} download title="this session as one HTML file">
              export
            </a>
          )}
          <button type="button" className="quiet" onClick={() => void loadAll(reading).then(() => print())}>
            print
          </button>
          <button type="button" className="quiet" aria-pressed={playing} onClick={onPlay}>
            play
          </button>
        </p>
      </div>
      <Remarks overview={overview} spent={spent} />
      {about && <About spent={spent} />}
      {spent && <ContextChart fills={spent.context} />}
    </header>
  );
}

export function LiveDot() {
  return <span className="live" role="img" aria-label="being written now" title="being written now" />;
}

function Totals({ overview, spent }: { overview: Overview; spent: Spent | null }) {
  const { models, started, ended } = overview;
  const seconds = started && ended ? (Date.parse(ended) - Date.parse(started)) / 1000 : null;
  return (
    <p className="totals num">
      {models.length > 0 && (
        <span title={models.join("\n")}>
          {model(models[0] as string)}
          {models.length > 1 && ` +${models.length - 1}`}
        </span>
      )}
      <span>{plural(overview.turns, "turn")}</span>
      {seconds !== null && <span>{duration(seconds)}</span>}
      {spent && (
        <span>
          <Count value={spent.figures.tokens} unit="tokens" /> tok
        </span>
      )}
      {spent && spent.figures.cost_usd !== null && <Cost figures={spent.figures} />}
    </p>
  );
}

function Where({ overview }: { overview: Overview }) {
  const { project, project_guessed, git_branches, started, versions } = overview;
  return (
    <p className="where">
      <span title={project_guessed ? `${project} (guessed from the folder's name)` : project}>
        <Plain text={folder(project)} />
        {project_guessed && "?"}
      </span>
      {git_branches.length > 0 && (
        <span title={git_branches.join("\n")}>
          <Plain text={git_branches.at(-1) ?? ""} />
        </span>
      )}
      {started && (
        <time dateTime={started} title={fullTime(started)}>
          {day(started)} {clock(started)}
        </time>
      )}
      {versions.length > 0 && <span title={`written by ${versions.join(", ")}`}>{versions.at(-1)}</span>}
    </p>
  );
}

function Remarks({ overview, spent }: { overview: Overview; spent: Spent | null }) {
  const reading = useReading();
  return (
    <div className="remarks" role="status">
      {reading.gone && <p className="note warning">The file vanished. What was read of it is still here.</p>}
      {overview.malformed > 0 && (
        <p className="note warning">
          {plural(overview.malformed, "line")} could not be read: see <em>about</em>.
        </p>
      )}
      {spent && caveats(spent.figures).map((said) => (
        <p key={said} className="note warning">
          {said}.
        </p>
      ))}
      {reading.remark && <p className="note warning">{reading.remark}</p>}
      {reading.failed && <p className="note error">{reading.failed.message}</p>}
    </div>
  );
}
