/** The turns behind a commit: which of them wrote its lines, how that is known, and what was asked for. */

import { useState } from "react";
import { useSource } from "../contexts";
import { exact, money, plural } from "../kit/format";
import { useKeptScroll } from "../kit/keepScroll";
import { useKept } from "../kit/kept";
import { PlainText } from "../kit/PlainText";
import { useAsync } from "../kit/useAsync";
import { parseRoute, sessionHref, useHash, type ReviewRoute } from "../route";
import { Bar } from "../shell/Bar";
import { LoadError, Loading } from "../shell/PageStates";
import { useLibraryRows } from "./listState";
import type { Review, ReviewCommit, ReviewFile, ReviewLines, ReviewPart, ReviewTurn } from "../data/values";

const SHORT_SHA = 9;
const SHORT_ID = 8;

const EVIDENCE: Record<string, string> = {
  recorded: "the session made the commit",
  lines: "the turn wrote its lines",
  note: "a git note says so",
  trailer: "the commit’s Claude-Session trailer names the session",
  rewritten: "the session made a commit with this subject at this time",
  time: "the session worked here at that time",
};

export function ReviewPage({ route }: { route: ReviewRoute }) {
  const source = useSource();
  useKeptScroll();
  const [tries, setTries] = useState(0);
  const loaded = useAsync(`${route.session} ${route.commit} ${tries}`, () => source.review(route.session, route.commit));
  return (
    <>
      <Bar page="review" />
      <main className="review">
        {loaded.state === "loading" && <Loading />}
        {loaded.state === "failed" && <LoadError error={loaded.error} onRetry={() => setTries(tries + 1)} />}
        {loaded.state === "ready" && <Found review={loaded.value} route={route} />}
      </main>
    </>
  );
}

function Found({ review, route }: { review: Review; route: ReviewRoute }) {
  const turns = new Map(review.turns.map((turn) => [keyOf(turn), turn]));
  const sha = review.last.slice(0, SHORT_SHA);
  const command = `reread review '${sha}^!' --replace-likely -f md`;
  return (
    <>
      {review.commits.map((commit) => (
        <Commit key={commit.sha} commit={commit} turns={turns} />
      ))}
      <h2>Prompts, in order</h2>
      <ol className="review-turns">
        {review.turns.map((turn) => (
          <Turn key={keyOf(turn)} turn={turn} />
        ))}
      </ol>
      <p className="review-actions">
        <a href={sessionHref({ session: route.session })}>Back to the session</a>
        <span>For others, without secrets: <code>{command}</code></span>
      </p>
    </>
  );
}

type Place = { session: string; turn: number | null };
const keyOf = ({ session, turn }: Place): string => `${session} ${turn}`;

/** A turn of this session, or of another by its title; of one that is elsewhere only the id is known. */
function useName({ session, turn }: Place): string {
  const route = parseRoute(useHash());
  const rows = useLibraryRows();
  if (turn !== null && route.page === "review" && route.session === session) return `turn ${turn}`;
  const title = rows.find(({ key, id }) => key === session || id === session)?.title ?? session.replace(/^session_/, "").slice(0, SHORT_ID);
  return turn === null ? title : `${title}, turn ${turn}`;
}

/** A turn whose session is on this machine; a prompt alone may be of a git note. */
const isHere = (turn: ReviewTurn | undefined): boolean => turn !== undefined && turn.prompt !== null && !turn.noted;

function Commit({ commit, turns }: { commit: ReviewCommit; turns: Map<string, ReviewTurn> }) {
  const left = commit.lines - commit.by_sessions;
  return (
    <section>
      <h1>
        <code>{commit.sha.slice(0, SHORT_SHA)}</code> <PlainText as="bdi" text={commit.subject} />
      </h1>
      <p className="quiet">
        {commit.merge
          ? "A merge: its lines are those of the commits that it joins."
          : `${plural(commit.lines, "added line")}: ${exact(commit.by_sessions)} by sessions${commit.guessed ? ` (${exact(commit.guessed)} guessed)` : ""}, ${exact(left)} by hand or unknown`}
      </p>
      <ul className="review-parts">
        {commit.turns.map((part) => (
          <li key={keyOf(part)}>
            <TurnLink part={part} known={isHere(turns.get(keyOf(part)))} />{" "}
            <span className="quiet">
              {part.lines > 0 && `${plural(part.lines, "line")}; `}
              {part.guess && "a guess: "}
              {part.evidence.map((one) => EVIDENCE[one] ?? one).join(", ")}
            </span>
          </li>
        ))}
      </ul>
      {commit.files.map((file) => (
        <File key={file.path} file={file} />
      ))}
    </section>
  );
}

function TurnLink({ part, known }: { part: Pick<ReviewPart, "session" | "turn">; known: boolean }) {
  const name = useName(part);
  if (!known)
    return (
      <span>
        <PlainText text={name} /> (not on this machine)
      </span>
    );
  return (
    <a href={sessionHref({ session: part.session }, part.turn === null ? {} : { turn: part.turn })}>
      <PlainText text={name} />
    </a>
  );
}

function File({ file }: { file: ReviewFile }) {
  const [open, setOpen] = useKept(`open ${file.path}`, false);
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <PlainText as="bdi" text={file.path} />
      </summary>
      <ul className="review-lines">
        {file.lines.map((lines) => (
          <li key={lines.first}>
            {lines.first === lines.last ? `line ${lines.first}` : `lines ${lines.first}–${lines.last}`}: <Writer lines={lines} />
          </li>
        ))}
      </ul>
    </details>
  );
}

function Writer({ lines }: { lines: ReviewLines }) {
  if (lines.session === null) return <span className="quiet">by hand or unknown</span>;
  return (
    <>
      <TurnLink part={{ session: lines.session, turn: lines.turn }} known={lines.evidence !== "note" && lines.evidence !== "trailer"} />
      {lines.guess && <span className="quiet"> (a guess: {lines.evidence})</span>}
    </>
  );
}

function Turn({ turn }: { turn: ReviewTurn }) {
  const facts = [
    turn.commits.length ? plural(turn.lines, "line") : "no line of it is in this commit",
    turn.written > turn.lines ? `wrote ${plural(turn.written, "line")}` : "",
    turn.deleted.length ? `deleted ${turn.deleted.join(", ")}` : "",
    turn.denied ? `${plural(turn.denied, "call")} refused` : "",
    turn.cost_usd === null ? "" : money(turn.cost_usd),
  ].filter(Boolean);
  return (
    <li>
      <TurnLink part={turn} known={isHere(turn)} /> <PlainText as="span" text={facts.join(" · ")} />
      {turn.prompt !== null && (
        <blockquote>
          <PlainText text={turn.prompt} />
        </blockquote>
      )}
      <ul className="review-lines">
        {turn.undoing.map((command) => (
          <li key={command}>
            put files back: <PlainText as="code" text={command} />
          </li>
        ))}
        {turn.dropped.map((prompt) => (
          <li key={prompt}>
            rewound: <PlainText text={prompt} />
          </li>
        ))}
        {turn.tests.map((test) => (
          <li key={test.command}>
            <PlainText as="code" text={test.command} />: {[test.passed ? `${plural(test.passed, "run")} passed` : "", test.failed ? `${plural(test.failed, "run")} failed` : "", test.unknown ? `${plural(test.unknown, "run")} with unknown outcome` : ""].filter(Boolean).join(", ")}
          </li>
        ))}
      </ul>
    </li>
  );
}
