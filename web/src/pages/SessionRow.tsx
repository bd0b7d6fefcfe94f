/** A row of the library: a session, sessions with one title, or the heading of a group. */

import type { ReactNode } from "react";
import { Count } from "../kit/Figure";
import { exact, exactMoney, folder, fullTime, model, money, plural, when } from "../kit/format";
import { useRunningKeys } from "../data/running";
import { LiveDot } from "../kit/LiveDot";
import { PlainText, visible } from "../kit/PlainText";
import { listHref, sessionHref } from "../route";
import type { Figures, LibraryRow } from "../data/values";
import { periodName } from "./ColumnChart";
import type { GroupRow, RepeatsRow, SessionEntry } from "./groupSessions";

/** A link to a session. */
export function SessionRow({ entry, onStar }: { entry: SessionEntry; onStar?: ((session: LibraryRow) => void) | undefined }) {
  const { session, nested } = entry;
  const { models, agents } = session;
  const isRunning = useRunningKeys().has(session.key);
  return (
    <>
      {onStar && (
        <button
          type="button"
          className="row-star"
          aria-pressed={session.starred}
          aria-label={visible(`Star ${session.title}`)}
          title={session.starred ? "Remove star" : "Star this session"}
          onClick={() => onStar(session)}
        >
          {session.starred ? "★" : "☆"}
        </button>
      )}
      <a className={nested ? "session-row nested" : "session-row"} data-session={session.key} href={sessionHref({ session: session.key })}>
        <span className="row-live">{isRunning && <LiveDot />}</span>
        <span className="row-title">
          <span className="row-name">
            <PlainText as="bdi" text={session.title || "(no prompt yet)"} />
            {session.note && <PlainText className="row-note muted" title={session.note} text={session.note} />}
          </span>
          <Labels session={session} />
          {entry.showProject && <Front className="row-project muted" text={folder(session.project)} />}
          {agents !== null && agents > 0 && (
            <span className="label num" title={plural(agents, "agent")}>
              <span aria-hidden="true">◇ {agents}</span>
              <span className="visually-hidden">{plural(agents, "agent")}</span>
            </span>
          )}
        </span>
        <Front className="row-branch" text={session.git_branch ?? ""} />
        <span className="row-updated">
          {session.updated && (
            <time dateTime={session.updated} title={fullTime(session.updated)}>
              {when(session.updated)}
            </time>
          )}
        </span>
        <Sums sessions={[session]} />
        <Models models={models} />
      </a>
    </>
  );
}

function Labels({ session }: { session: LibraryRow }) {
  return (
    <>
      {session.tags.map((tag) => (
        <PlainText key={tag} className="label" text={`#${tag}`} />
      ))}
      {session.archived && (
        <span className="label" title="Claude Code's lists leave it out">
          archived
        </span>
      )}
      {session.captured && <span className="label">captured</span>}
      {session.gone && (
        <span className="label" title="Claude Code has deleted it; this is the copy that reread keeps">
          kept copy
        </span>
      )}
      {session.prompts_only && (
        <span className="label" title="Claude Code has deleted it; these are the prompts that it remembers">
          prompts only
        </span>
      )}
    </>
  );
}

/** Sessions with one title: a button that shows and hides them. */
export function RepeatsRowView({ row, onToggle }: { row: RepeatsRow; onToggle(): void }) {
  const { sessions, open, showProject } = row;
  const [newest] = sessions.toSorted((a, b) => (b.updated ?? "").localeCompare(a.updated ?? "")) as [LibraryRow];
  return (
    <button type="button" className="session-row" aria-expanded={open} title={open ? "Hide them" : `Show all ${sessions.length} sessions with this title`} onClick={onToggle}>
      <span className="row-live fold" aria-hidden="true">
        {open ? "▾" : "▸"}
      </span>
      <span className="row-title">
        <span className="row-name">
          <PlainText as="bdi" text={newest.title} />
        </span>
        <span className="repeats num">× {exact(sessions.length)}</span>
        {showProject && <Front className="row-project muted" text={folder(newest.project)} />}
      </span>
      <span className="row-branch" />
      <span className="row-updated">{newest.updated && when(newest.updated)}</span>
      <Sums sessions={sessions} />
      <Models models={[...new Set(sessions.flatMap(({ models }) => models))]} />
    </button>
  );
}

/** The heading of a group, which folds it; that of a project leads to the project. `quiet`: a copy that keys pass over. */
export function GroupHeading({ row, onToggle, quiet = false }: { row: GroupRow; onToggle(): void; quiet?: boolean }) {
  const { name, group, guessed, sessions, folded } = row;
  const label = group === "project" ? folder(name) || "no project" : group === "day" ? periodName(name) : name || "no branch";
  const tabIndex = quiet ? -1 : undefined;
  const title = visible(guessed ? `${name} (guessed from the name of its folder)` : name);
  return (
    <div className="project-row">
      <button type="button" className="fold" tabIndex={tabIndex} aria-expanded={!folded} aria-label={visible(`${folded ? "Show" : "Hide"} ${label}`)} onClick={onToggle}>
        {folded ? "▸" : "▾"}
      </button>
      <h2 title={title}>
        {group === "day" ? (
          label
        ) : (
          <a href={listHref({ only: { [group]: name } })} tabIndex={tabIndex}>
            <Front text={label} />
            {guessed && "?"}
          </a>
        )}
      </h2>
      <span className="group-count muted num">{plural(sessions.length, "session")}</span>
      <Sums sessions={sessions} />
      <span className="row-model" />
    </div>
  );
}

/** A text that loses its beginning, not its end, if there is no room. */
function Front({ text, className = "" }: { text: string; className?: string }) {
  return (
    <span className={`front ${className}`} title={visible(text) || undefined}>
      <bdi dir="ltr">
        <PlainText text={text} />
      </bdi>
    </span>
  );
}

function Models({ models }: { models: string[] }) {
  return (
    <span className="row-model" title={visible(models.join("\n"))}>
      {models.length > 0 && <PlainText text={model(models[0] as string)} />}
      {models.length > 1 && ` +${models.length - 1}`}
    </span>
  );
}

/** The figures of a session, or of some together; what is not counted yet is left out. */
function Sums({ sessions }: { sessions: LibraryRow[] }): ReactNode {
  const counted = sessions.filter((row) => row.turns !== null);
  const figures = sumFigures(counted.flatMap((row) => row.figures ?? []));
  const sum = (of: (row: LibraryRow) => number | null) => counted.reduce((total, row) => total + (of(row) ?? 0), 0);
  const [added, removed] = [sum((row) => row.lines_added), sum((row) => row.lines_removed)];
  const turns = sum((row) => row.turns);
  return (
    <>
      <span className="row-turns num">{counted.length > 0 && exact(turns)}</span>
      <span className="row-tokens">{figures && <Count value={figures.tokens} unit="tokens" />}</span>
      <span className="row-cost num" title={figures?.cost_usd != null ? exactMoney(figures.cost_usd) : undefined}>
        {figures && (figures.cost_usd === null ? <span className="muted">–</span> : money(figures.cost_usd))}
      </span>
      <span className="row-changed num">
        {added + removed > 0 ? (
          <>
            <span className="added-count">+{exact(added)}</span> <span className="removed-count">−{exact(removed)}</span>
          </>
        ) : (
          counted.length > 0 && "–"
        )}
      </span>
    </>
  );
}

export function sumFigures(all: Figures[]): Figures | null {
  if (!all.length) return null;
  const priced = all.filter((figures) => figures.cost_usd !== null);
  return {
    tokens: all.reduce((sum, figures) => sum + figures.tokens, 0),
    output_tokens: all.reduce((sum, figures) => sum + figures.output_tokens, 0),
    cost_usd: priced.length ? priced.reduce((sum, figures) => sum + (figures.cost_usd ?? 0), 0) : null,
    unconfirmed_responses: all.reduce((sum, figures) => sum + figures.unconfirmed_responses, 0),
    unpriced_models: [...new Set(all.flatMap((figures) => figures.unpriced_models))],
  };
}
