/** What follows a message: cache breaks; at the end of a turn, its commits and pull requests, then the duration, tokens and cost, and how to go on from there. */

import { useThreadStore } from "../contexts";
import { useCopy } from "../kit/CopyTextButton";
import { TokensAndCost } from "../kit/Figure";
import { capitalized, duration } from "../kit/format";
import { PlainText, visible } from "../kit/PlainText";
import { SafeLink, isSafe } from "../kit/SafeLink";
import { CacheBreaks } from "../parts/CacheBreaks";
import { reviewHref, sessionHref } from "../route";
import type { CommitInfo, PullRequestInfo, TimelineItem } from "../data/values";

/** Digits of a commit's hash that are shown. */
const SHORT_SHA = 9;

export function TurnEnd({ item }: { item: TimelineItem }) {
  const { figures, seconds, commits, pull_requests: pulls, cache_breaks: breaks } = item;
  return (
    <>
      <CacheBreaks breaks={breaks} />
      {commits.length + pulls.length > 0 && (
        <ul className="git" aria-label="Commits and pull requests of this turn">
          {commits.map((commit) => (
            <Commit key={commit.sha} commit={commit} />
          ))}
          {pulls.map((pull) => (
            <PullRequest key={`${pull.repository} ${pull.number}`} pull={pull} />
          ))}
        </ul>
      )}
      {figures !== null && (
        <p className="turn-end">
          {figures.tokens > 0 && (
            <>
              {seconds !== null && <span>{duration(seconds)}</span>}
              <TokensAndCost figures={figures} />
            </>
          )}
          <ContinueButton turn={item.turn} />
        </p>
      )}
    </>
  );
}

/** Copies the command that makes a new session of everything up to a turn; agents cannot be continued. */
function ContinueButton({ turn }: { turn: number }) {
  const { source, thread, overview } = useThreadStore();
  const [result, copy] = useCopy();
  if (!source.can.library || thread.agent !== undefined) return null;
  const path = thread.branch === undefined ? "" : `@${thread.branch}`;
  const command = `reread resume ${quoted(overview.id)}${path}:${turn}`;
  return (
    <button
      type="button"
      className="link-button continue"
      title={visible(`Copy the command that continues a new session from here: ${command}`)}
      onClick={() => copy(() => Promise.resolve(command))}
    >
      <span aria-live="polite">{result ?? "Continue from here"}</span>
    </button>
  );
}

/** A word as a shell reads it. */
function quoted(word: string): string {
  return /^\w[\w-]*$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function Commit({ commit }: { commit: CommitInfo }) {
  const { source, thread } = useThreadStore();
  const { sha, subject, branch, call, agent } = commit;
  const where = branch ? ` on ${branch}` : "";
  return (
    <li>
      <span className="label">Commit</span>
      <a className="sha" href={sessionHref({ session: thread.session, agent: agent ?? undefined }, { call })} title={visible(`${sha}${where}: go to the call`)}>
        <PlainText text={sha.slice(0, SHORT_SHA)} />
      </a>
      <PlainText as="bdi" text={subject} />
      <ByAgent agent={agent} />
      {source.can.library && (
        <a className="review-link" href={reviewHref(thread.session, sha)} title="See which turns wrote the lines of this commit">
          Review
        </a>
      )}
    </li>
  );
}

function PullRequest({ pull }: { pull: PullRequestInfo }) {
  const { thread } = useThreadStore();
  const { number, url, repository, action, call, agent } = pull;
  const name = `${repository}#${number}`;
  return (
    <li>
      <span className="label">Pull request</span>
      {isSafe(url) ? (
        <SafeLink url={url} text={name}>
          <PlainText text={name} />
        </SafeLink>
      ) : (
        <PlainText text={name} />
      )}
      {call === null ? (
        <span className="muted">{capitalized(visible(action))}</span>
      ) : (
        <a className="link-button" href={sessionHref({ session: thread.session, agent: agent ?? undefined }, { call })} title="Go to the call">
          <PlainText text={capitalized(action)} />
        </a>
      )}
      <ByAgent agent={agent} />
    </li>
  );
}

function ByAgent({ agent }: { agent: string | null }) {
  const { overview, thread } = useThreadStore();
  if (agent === null || agent === thread.agent) return null;
  const found = overview.agents.find(({ id }) => id === agent);
  return (
    <span className="muted">
      ◇ <PlainText text={found?.type ?? "agent"} />
    </span>
  );
}
