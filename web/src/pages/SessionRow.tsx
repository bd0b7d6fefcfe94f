/** A row of the library: a session, or the heading of a project. */

import { Cost, Count } from "../kit/Figure";
import { folder, fullTime, model, plural, when } from "../kit/format";
import { LiveDot } from "../kit/LiveDot";
import { PlainText, visible } from "../kit/PlainText";
import { sessionHref } from "../route";
import type { Figures, LibraryRow } from "../data/values";
import type { ProjectGroup, SessionEntry } from "./groupSessions";

/** A link to a session; or, for sessions with the same title, a button that shows them one by one. */
export function SessionRow({ entry, onUnfold, onStar }: { entry: SessionEntry; onUnfold(): void; onStar?: ((session: LibraryRow) => void) | undefined }) {
  const { session, repeats } = entry;
  if (repeats === 1) {
    return (
      <>
        <button
          type="button"
          className="row-star"
          aria-pressed={session.starred}
          aria-label={visible(`Star ${session.title}`)}
          title={session.starred ? "Take the star away" : "Star this session"}
          onClick={() => onStar?.(session)}
        >
          {session.starred ? "★" : "☆"}
        </button>
        <a className="session-row" data-session={session.key} href={sessionHref({ session: session.key })}>
          <Cells entry={entry} />
        </a>
      </>
    );
  }
  return (
    <button type="button" className="session-row" title={`Show all ${repeats} sessions with this title`} onClick={onUnfold}>
      <Cells entry={entry} />
    </button>
  );
}

function Cells({ entry: { session, showProject, repeats } }: { entry: SessionEntry }) {
  const { models, agents, turns } = session;
  return (
    <>
      <span className="row-live">{session.live && <LiveDot />}</span>
      <span className="row-title">
        <PlainText as="bdi" text={session.title || "(no prompt yet)"} />
        {repeats > 1 && <span className="label num">× {repeats}</span>}
        {session.captured && <span className="label">captured</span>}
        {session.gone && (
          <span className="label" title="Claude Code has deleted it; this is the copy that reread keeps">
            kept, gone
          </span>
        )}
        {session.prompts_only && (
          <span className="label" title="Claude Code has deleted it; these are the prompts that it remembers">
            prompts only
          </span>
        )}
        {session.note && <PlainText className="row-note muted" title={session.note} text={session.note} />}
        {showProject && <PlainText className="muted row-project" text={folder(session.project)} />}
      </span>
      <span className="row-branch" title={visible(session.git_branch ?? "") || undefined}>
        <PlainText text={session.git_branch ?? ""} />
      </span>
      <span className="row-updated">
        {session.updated && (
          <time dateTime={session.updated} title={fullTime(session.updated)}>
            {when(session.updated)}
          </time>
        )}
      </span>
      <span className="row-turns num">{turns === null ? "" : plural(turns, "turn")}</span>
      <Tokens figures={session.figures} />
      <span className="row-cost">{session.figures && <Cost figures={session.figures} />}</span>
      <span className="row-model" title={visible(models.join("\n"))}>
        {models.length > 0 && <PlainText text={model(models[0] as string)} />}
        {models.length > 1 && ` +${models.length - 1}`}
        {agents !== null && agents > 0 && <span> · {plural(agents, "agent")}</span>}
      </span>
    </>
  );
}

export function ProjectRow({ group }: { group: ProjectGroup }) {
  const total = sumFigures(group.sessions.flatMap((session) => session.figures ?? []));
  return (
    <div className="project-row">
      <h2 title={visible(group.guessed ? `${group.project} (guessed from the folder name)` : group.project)}>
        <PlainText text={folder(group.project)} />
        {group.guessed && "?"}
      </h2>
      <span className="row-turns num">{plural(group.sessions.length, "session")}</span>
      <Tokens figures={total} />
      <span className="row-cost">{total && <Cost figures={total} />}</span>
      <span className="row-model" />
    </div>
  );
}

function Tokens({ figures }: { figures: Figures | null }) {
  return (
    <span className="row-tokens">
      {figures && (
        <>
          <Count value={figures.tokens} unit="tokens" /> tokens
        </>
      )}
    </span>
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
