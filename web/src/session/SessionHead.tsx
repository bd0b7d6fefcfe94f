/** The header of a session: title, totals, actions and notices. On a phone it is short until one asks for more. */

import { useState } from "react";
import { useThreadStore } from "../contexts";
import { caveats, TokensAndCost } from "../kit/Figure";
import { day, duration, folder, fullTime, model, plural, timeOfDay } from "../kit/format";
import { LiveDot } from "../kit/LiveDot";
import { nextFrame } from "../kit/nextFrame";
import { PlainText, visible } from "../kit/PlainText";
import { useVersion } from "../kit/store";
import { useAsync } from "../kit/useAsync";
import { sessionHref, timelineHref } from "../route";
import { useActions, type Action } from "../shell/actions";
import type { Overview, UsageSummary } from "../data/values";
import { About } from "./About";
import { ChangedFiles } from "./ChangedFiles";
import { ContextChart } from "./ContextChart";
import { ContextPanel } from "./ContextPanel";
import { AgentFigures } from "./InlineAgent";
import { SharePane } from "./SharePane";
import { StarAndNote } from "./StarAndNote";

/** Usage is loaded again after this many new items. */
const USAGE_STEP = 20;

interface Props {
  onPlay(): void;
  playing: boolean;
  timeline: boolean;
}

export function SessionHead({ onPlay, playing, timeline }: Props) {
  const store = useThreadStore();
  useVersion(store);
  const { overview, source, thread } = store;
  const [more, setMore] = useState(false);
  const [about, setAbout] = useState(false);
  const [sharing, setSharing] = useState(false);
  const [files, setFiles] = useState(false);
  /** The turn whose context is shown. */
  const [context, setContext] = useState<number | null>(null);
  const loaded = useAsync("usage", () => nextFrame().then(() => source.usage(thread)), Math.floor(store.total / USAGE_STEP));
  const usage = loaded.state === "ready" ? loaded.value : null;
  const exportUrl = source.exportUrl(thread);
  const download: Action[] = exportUrl === null ? [] : [{ name: "Export as one HTML file", run: () => location.assign(exportUrl) }];
  const changes: Action[] = source.can.files ? [{ name: "Files that this session changed", run: () => setFiles(!files) }] : [];
  useActions([...download, ...changes, { name: "Print", also: "pdf paper", run: () => print() }, { name: "About this session", also: "info details model version tokens cost", run: () => setAbout(!about) }]);
  return (
    <header className={more ? "session-head" : "session-head short"}>
      {overview.agent && (
        <p className="agent-of">
          ◇ Agent of <a href={sessionHref({ session: thread.session })}>the session</a>
          {" · "}
          <AgentFigures agent={overview.agent} />
        </p>
      )}
      <h1 dir="auto">
        {overview.live && <LiveDot />}
        <PlainText text={overview.title} />
      </h1>
      <Totals overview={overview} usage={usage} />
      <div className="head-row">
        <Location overview={overview} />
        <p className="head-actions">
          <a
            className="link-button"
            aria-current={timeline ? "page" : undefined}
            href={timeline ? sessionHref(thread) : timelineHref(thread)}
            title={timeline ? "Back to the messages" : "The session over time"}
          >
            Timeline
          </a>
          {source.can.files && (
            <button type="button" className="link-button" aria-expanded={files} onClick={() => setFiles(!files)}>
              Files
            </button>
          )}
          <button type="button" className="link-button" aria-pressed={playing} onClick={onPlay}>
            Play
          </button>
          <button type="button" className="link-button secondary" aria-expanded={about} onClick={() => setAbout(!about)}>
            About
          </button>
          {exportUrl && (
            <a className="link-button secondary" href={exportUrl} download title="Download this session as one HTML file">
              Export
            </a>
          )}
          {exportUrl && !overview.agent && (
            <button type="button" className="link-button secondary" aria-expanded={sharing} onClick={() => setSharing(!sharing)}>
              Share
            </button>
          )}
          <button type="button" className="link-button secondary" onClick={() => print()}>
            Print
          </button>
          <button type="button" className="link-button more-button" aria-expanded={more} onClick={() => setMore(!more)}>
            More
          </button>
        </p>
      </div>
      <div className="head-row secondary">
        {source.can.annotate && !overview.agent && <StarAndNote session={thread.session} />}
        <ContextChart
          bars={usage?.context ?? null}
          turns={overview.turns}
          onOpen={source.context && thread.branch === undefined ? setContext : undefined}
        />
      </div>
      <Notices overview={overview} />
      {sharing && <SharePane session={thread.session} onClose={() => setSharing(false)} />}
      {about && <About usage={usage} />}
      {files && <ChangedFiles />}
      {context !== null && <ContextPanel turn={context} turns={overview.turns} onTurn={setContext} />}
    </header>
  );
}

/** On one line, because the usage comes late and nothing below may move. */
function Totals({ overview, usage: counted }: { overview: Overview; usage: UsageSummary | null }) {
  const { models, started, ended } = overview;
  const promptsOnly = overview.dialects[0] === "history";
  const usage = promptsOnly ? null : counted; // what it used is recorded nowhere
  const seconds = started && ended ? (Date.parse(ended) - Date.parse(started)) / 1000 : null;
  return (
    <p className="totals num">
      {models.length > 0 && (
        <span title={visible(models.join("\n"))}>
          <PlainText text={model(models[0] as string)} />
          {models.length > 1 && ` +${models.length - 1}`}
        </span>
      )}
      <span>{plural(overview.turns, "turn")}</span>
      {seconds !== null && <span>{duration(seconds)}</span>}
      {promptsOnly && <span title="Claude Code has deleted the session; these are the prompts that it remembers">prompts only</span>}
      {usage && <TokensAndCost figures={usage.figures} />}
      {usage &&
        caveats(usage.figures).map((caveat) => (
          <span key={caveat} className="caveat" title={caveat}>
            {caveat}
          </span>
        ))}
    </p>
  );
}

function Location({ overview }: { overview: Overview }) {
  const { project, project_guessed, git_branches, started, versions } = overview;
  return (
    <p className="session-location">
      <span title={visible(project_guessed ? `${project} (guessed from the folder name)` : project)}>
        <PlainText text={folder(project)} />
        {project_guessed && "?"}
      </span>
      {git_branches.length > 0 && <PlainText title={git_branches.join("\n")} text={git_branches.at(-1) ?? ""} />}
      {started && (
        <time dateTime={started} title={fullTime(started)}>
          {day(started)} {timeOfDay(started)}
        </time>
      )}
      {versions.length > 0 && <span title={visible(`Claude Code ${versions.join(", ")}`)}><PlainText text={versions.at(-1) ?? ""} /></span>}
    </p>
  );
}

function Notices({ overview }: { overview: Overview }) {
  const { gone, notice, error } = useThreadStore();
  return (
    <div className="session-notices" role="status">
      {gone && <p className="note warning">The file no longer exists. Showing what was read before.</p>}
      {overview.malformed > 0 && (
        <p className="note warning">
          {plural(overview.malformed, "line")} could not be read. See <em>About</em>.
        </p>
      )}
      {notice && <p className="note warning">{notice}</p>}
      {error && <p className="note error">{error.message}</p>}
    </div>
  );
}
