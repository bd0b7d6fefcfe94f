/** The header of a session: title, totals, actions and notices. On a phone it is short until one asks for more. */

import { use, useState } from "react";
import { PanelContext, useThreadStore } from "../contexts";
import { caveats, TokensAndCost } from "../kit/Figure";
import { day, duration, folder, fullTime, model, plural, timeOfDay } from "../kit/format";
import { useRunningKeys } from "../data/running";
import { LiveDot } from "../kit/LiveDot";
import { PlainText, visible } from "../kit/PlainText";
import { useVersion } from "../kit/store";
import { sessionHref, timelineHref, withPanel, type PanelTab } from "../route";
import { useActions, type Action } from "../shell/actions";
import { overlay } from "../shell/overlay";
import type { Overview, UsageSummary } from "../data/values";
import { ContextChart } from "./ContextChart";
import { chosenTurn } from "./ContextTab";
import { AgentFigures } from "./InlineAgent";
import { PanelLink, usePanel } from "./PanelLink";
import { panelTabs } from "./SidePanel";
import { StarAndNote } from "./StarAndNote";

/** The tabs of the panel, as the palette names them. */
const ACTIONS: Record<PanelTab, { name: string; also: string }> = {
  files: { name: "Files that this session changed", also: "diff blame versions changes" },
  context: { name: "What fills the context, and API requests", also: "window tokens system prompt memory tools messages cache" },
  about: { name: "About this session", also: "info details model version tokens cost" },
  share: { name: "Share this session without secrets", also: "redact export publish" },
};

interface Props {
  onPlay(): void;
  playing: boolean;
  timeline: boolean;
  usage: UsageSummary | null;
}

export function SessionHead({ onPlay, playing, timeline, usage }: Props) {
  const store = useThreadStore();
  useVersion(store);
  const { overview, source, thread } = store;
  const [more, setMore] = useState(false);
  const isRunning = useRunningKeys().has(thread.session);
  const show = usePanel();
  const tabs = panelTabs(source, thread);
  const exportUrl = source.exportUrl(thread);
  const download: Action[] = exportUrl === null ? [] : [{ name: "Export as one HTML file", run: () => location.assign(exportUrl) }];
  const panels = tabs.map((tab): Action => ({ ...ACTIONS[tab], run: () => show({ tab, chosen: "" }) }));
  const compare = source.compare && source.can.library && !overview.agent ? () => overlay.show("compare") : null;
  const compares: Action[] = compare ? [{ name: "Compare with another session", also: "beside difference diff versus rerun", run: compare }] : [];
  useActions([...panels, ...compares, ...download, { name: "Print", also: "pdf paper", run: () => print() }]);
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
        {isRunning && <LiveDot />}
        <PlainText text={overview.title} />
      </h1>
      <Totals overview={overview} usage={usage} />
      <div className="head-row">
        <Location overview={overview} />
        <p className="head-actions">
          <HeadLinks timeline={timeline} />
          <button type="button" className="link-button secondary" aria-pressed={playing} onClick={onPlay}>
            Play
          </button>
          {compare && (
            <button type="button" className="link-button secondary" aria-haspopup="dialog" title="Another session beside this one, turn by turn" onClick={compare}>
              Compare
            </button>
          )}
          {exportUrl && (
            <a className="link-button secondary" href={exportUrl} download title="Download this session as one HTML file">
              Export
            </a>
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
          onOpen={tabs.includes("context") ? (turn) => show({ tab: "context", chosen: chosenTurn(turn) }) : undefined}
        />
      </div>
      <Notices overview={overview} />
    </header>
  );
}

/** The timeline, the panel and sharing, in the header and in the line that stays of it. */
export function HeadLinks({ timeline = false }: { timeline?: boolean }) {
  const { source, thread } = useThreadStore();
  const panel = use(PanelContext);
  const [first = "about", ...others] = panelTabs(source, thread);
  return (
    <>
      <a
        className="link-button"
        aria-current={timeline ? "page" : undefined}
        href={withPanel(timeline ? sessionHref(thread) : timelineHref(thread), panel)}
        title={timeline ? "Back to the messages" : "The session over time"}
      >
        Timeline
      </a>
      <PanelLink className="link-button" panel={{ tab: first, chosen: "" }} current={panel !== null && panel.tab !== "share"} title="Files, context, requests and facts beside the messages">
        Details
      </PanelLink>
      {others.includes("share") && (
        <PanelLink className="link-button" panel={{ tab: "share", chosen: "" }} current={panel?.tab === "share"} title={ACTIONS.share.name}>
          Share
        </PanelLink>
      )}
    </>
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
