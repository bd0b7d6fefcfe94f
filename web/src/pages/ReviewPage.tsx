/** Commits as their files, with the turn that wrote each line in the margin, and above them what was asked for. */

import { useEffect, useMemo, useState, type CSSProperties, type ReactNode } from "react";
import { ExpandedContext, useSource } from "../contexts";
import { Expanded } from "../data/expanded";
import { exact, money, plural } from "../kit/format";
import { useKeptScroll } from "../kit/keepScroll";
import { useKept } from "../kit/kept";
import { PlainText, visible } from "../kit/PlainText";
import { useAsync } from "../kit/useAsync";
import { FileSection, FileTree, isOpenAtFirst } from "../nodes/ChangedFiles";
import { Diff } from "../nodes/Diff";
import { NodeList } from "../nodes/NodeList";
import { reviewHref, sessionHref, type ReviewRoute } from "../route";
import { Bar } from "../shell/Bar";
import { LoadError, Loading } from "../shell/PageStates";
import { useLibraryRows } from "./listState";
import type { CommitReview, CommitDiff, ReviewCommit, ReviewLines, ReviewPart, ReviewTurn } from "../data/values";

const SHORT_SHA = 9;
const SHORT_ID = 8;
/** Turns have so many colours, one after the other; their number tells them apart. */
const COLOURS = 5;
const EVIDENCE: Record<string, string> = {
  recorded: "the session made the commit",
  lines: "the turn wrote its lines",
  note: "a git note says so",
  trailer: "the commit’s Claude-Session trailer names the session",
  rewritten: "the session made a commit with this subject at this time",
  time: "the session worked here at that time",
};
/** What needs no word: the margin shows it. */
const USUAL = new Set(["recorded", "lines"]);
/** Why a line is only likely to be of a turn. */
const GUESSES: Record<string, string> = {
  ambiguous: "several turns wrote this line",
  moved: "the turn wrote this line elsewhere",
  reformatted: "the text equals but for its form",
  command: "a command of the turn has this line",
  trailer: "the commit names the session",
};

export function ReviewPage({ route }: { route: ReviewRoute }) {
  const source = useSource();
  useKeptScroll();
  const [tries, setTries] = useState(0);
  const [expanded] = useState(() => new Expanded());
  const loaded = useAsync(`${route.session} ${route.commit} ${tries}`, () => source.review(route.session, route.commit));
  return (
    <>
      <Bar page="review" />
      <main className="review" aria-busy={loaded.state === "loading"}>
        {loaded.state === "loading" && <Loading />}
        {loaded.state === "failed" && <LoadError error={loaded.error} onRetry={() => setTries(tries + 1)} />}
        {loaded.state === "ready" && (
          <ExpandedContext value={expanded}>
            <Commits found={loaded.value} route={route} />
          </ExpandedContext>
        )}
      </main>
    </>
  );
}

/** A turn with the number and the colour that its lines have in the margin. */
interface Author {
  turn: ReviewTurn;
  number: number;
  name: string;
  /** null if its session is not on this machine; a prompt alone may be of a git note. */
  href: string | null;
}
type Authors = (place: Pick<ReviewPart, "session" | "turn">) => Author | undefined;

const keyOf = ({ session, turn }: Pick<ReviewPart, "session" | "turn">): string => `${session} ${turn}`;

/** The turns in their order. Those of the session that one came from are called by their number alone. */
function useAuthors(turns: ReviewTurn[], route: ReviewRoute): Author[] {
  const rows = useLibraryRows();
  return useMemo(
    () =>
      turns.map((turn, at) => {
        const row = rows.find(({ key, id }) => key === turn.session || id === turn.session);
        const title = (row?.key ?? turn.session) === route.session ? "" : (row?.title ?? turn.session.replace(/^session_/, "").slice(0, SHORT_ID));
        const isHere = turn.prompt !== null && !turn.noted;
        const href = isHere ? sessionHref({ session: turn.session }, turn.turn === null ? {} : { turn: turn.turn }) : null;
        const name = [title, turn.turn === null ? "" : `turn ${turn.turn}`].filter(Boolean).join(", ");
        return { turn, number: at + 1, name: name || "the session", href };
      }),
    [turns, rows, route.session],
  );
}

function Commits({ found: { review, files, others }, route }: { found: CommitReview; route: ReviewRoute }) {
  const authors = useAuthors(review.turns, route);
  const authorOf = useMemo<Authors>(() => {
    const known = new Map(authors.map((author) => [keyOf(author.turn), author]));
    return (place) => known.get(keyOf(place));
  }, [authors]);
  const [only] = review.commits.length === 1 ? review.commits : [];
  const writers = new Set(review.commits.flatMap(({ turns }) => turns.filter(({ lines }) => lines > 0).map(keyOf))).size;
  const title = useLibraryRows().find(({ key }) => key === route.session)?.title ?? "";
  const byHand = review.lines - review.by_sessions;
  const lines = [
    review.by_sessions > review.guessed && `${exact(review.by_sessions - review.guessed)} by ${plural(writers, "turn")}`,
    byHand > 0 && `${exact(byHand)} by hand or unknown`,
    review.guessed > 0 && plural(review.guessed, "guess", "guesses"),
  ].filter(Boolean);
  return (
    <>
      <header className="review-head">
        <h1>{only ? <CommitName commit={only} /> : <PlainText text={`${plural(review.commits.length, "commit")} of ${title || "this session"}`} />}</h1>
        <p className="review-facts">
          <span>
            {only?.merge ? "A merge: its lines are those of the commits that it joins." : `${plural(review.lines, "added line")}${lines.length ? `: ${lines.join(", ")}` : ""}`}
          </span>
          <span className="muted">
            {[plural(review.turns.filter(({ prompt }) => prompt !== null).length, "prompt"), review.cost_usd !== null && money(review.cost_usd)].filter(Boolean).join(" · ")}
            <Tests turns={review.turns} />
          </span>
          <span className="review-links">
            <a href={sessionHref({ session: route.session })}>Back to the session</a>
            {route.commit && others > 0 && <a href={reviewHref(route.session)}>All {others + review.commits.length} commits of the session</a>}
          </span>
        </p>
      </header>
      <ol className="review-turns" aria-label="Prompts, in order">
        {authors.map((author) => (
          <Prompt key={author.number} author={author} />
        ))}
      </ol>
      {review.commits.map((commit) => (
        <Commit key={commit.sha} commit={commit} files={files.filter(({ sha }) => sha === commit.sha)} authorOf={authorOf} alone={commit === only} />
      ))}
      {only && (
        <p className="note">
          For others, without secrets: <code>{`reread review '${only.sha.slice(0, SHORT_SHA)}^!' --replace-likely -f md`}</code>
        </p>
      )}
    </>
  );
}

const CommitName = ({ commit }: { commit: ReviewCommit }) => (
  <>
    <PlainText as="bdi" text={commit.subject} /> <code className="muted">{commit.sha.slice(0, SHORT_SHA)}</code>
  </>
);

/** How the last run of each command that tests ended. */
function Tests({ turns }: { turns: ReviewTurn[] }) {
  const last = new Map(turns.flatMap(({ tests }) => tests.map((test) => [test.command, test])));
  return [...last.values()].map(({ command, failed, passed }) => (
    <span key={command} className={failed ? "failed-text" : undefined}>
      {" · "}
      <PlainText as="code" text={command} /> {failed ? `✗ ${exact(failed)} failed` : passed ? "✓" : "?"}
    </span>
  ));
}

/** The number of a turn in its colour; a guess is hatched. */
function Mark({ author, guess = false, children }: { author: Author; guess?: boolean; children?: ReactNode }) {
  const style = { "--turn": `var(--series-${(author.number - 1) % COLOURS})` } as CSSProperties;
  return (
    <span className={guess ? "turn-mark guess" : "turn-mark"} style={style} data-turn={author.number}>
      {children}
    </span>
  );
}

const TurnLink = ({ author: { href, name } }: { author: Author }) =>
  href ? (
    <a href={href}>
      <PlainText text={name} />
    </a>
  ) : (
    <span>
      <PlainText text={name} /> (not on this machine)
    </span>
  );

/** Scrolls to the first line of a turn. */
function showLines(number: number): void {
  document.querySelector(`.line-margin [data-turn="${number}"]`)?.scrollIntoView({ block: "center" });
}

function Prompt({ author }: { author: Author }) {
  const { turn, number } = author;
  const facts = [
    turn.written > turn.lines ? `wrote ${plural(turn.written, "line")}` : "",
    turn.deleted.length ? `deleted ${turn.deleted.join(", ")}` : "",
    turn.denied ? `${plural(turn.denied, "call")} refused` : "",
    ...turn.undoing.map((command) => `put files back: ${command}`),
    ...turn.dropped.map((prompt) => `rewound: ${prompt}`),
  ].filter(Boolean);
  return (
    <li className={turn.lines ? undefined : "no-lines"}>
      <Mark author={author}>{number}</Mark>
      <blockquote>{turn.prompt === null ? <span className="muted">The prompt is not on this machine.</span> : <PlainText text={turn.prompt} />}</blockquote>
      <span className="num">
        {turn.lines > 0 ? (
          <button type="button" className="link-button" onClick={() => showLines(number)}>
            {plural(turn.lines, "line")}
          </button>
        ) : (
          <span className="muted">no line</span>
        )}
      </span>
      <span className="num muted">{turn.cost_usd !== null && money(turn.cost_usd)}</span>
      <TurnLink author={author} />
      {facts.length > 0 && <PlainText as="p" className="muted" text={facts.join(" · ")} />}
    </li>
  );
}

interface CommitProps {
  commit: ReviewCommit;
  files: CommitDiff[];
  authorOf: Authors;
  /** True if the page is about this commit, and its head says what it is. */
  alone: boolean;
}

function Commit({ commit, files, authorOf, alone }: CommitProps) {
  const [chosen, setChosen] = useKept(`file of ${commit.sha}`, "");
  const other = commit.turns.flatMap((part) => {
    const author = authorOf(part);
    return author && (part.guess || part.evidence.some((one) => !USUAL.has(one))) ? [{ author, text: `${part.guess ? "a guess: " : ""}${part.evidence.map((one) => EVIDENCE[one] ?? one).join(", ")}` }] : [];
  });
  return (
    <section className="review-commit">
      {!alone && (
        <h2>
          <CommitName commit={commit} />
        </h2>
      )}
      <ul className="review-evidence muted">
        {other.map(({ author, text }) => (
          <li key={author.number}>
            <TurnLink author={author} />: {text}
          </li>
        ))}
      </ul>
      {files.length > 0 && (
        <FileTree
          files={files}
          link={({ path }, label) => (
            <button type="button" className="path link-button" onClick={() => setChosen(path)}>
              {label}
            </button>
          )}
        />
      )}
      {files.map((file, index) => (
        <CommitFile
          key={index}
          file={file}
          index={index}
          lines={commit.files.find(({ path }) => path === file.path)?.lines ?? []}
          authorOf={authorOf}
          chosen={file.path === chosen}
        />
      ))}
    </section>
  );
}

interface FileProps {
  file: CommitDiff;
  index: number;
  lines: ReviewLines[];
  authorOf: Authors;
  chosen: boolean;
}

function CommitFile({ file, index, lines, authorOf, chosen }: FileProps) {
  const [open, setOpen] = useKept(`open ${file.sha} ${file.path}`, isOpenAtFirst(file, index));
  useEffect(() => {
    if (chosen) setOpen(true);
  }, [chosen]);
  const runs = useMemo(() => {
    const found = new Map<number, ReviewLines>();
    for (const run of lines) for (let line = run.first; line <= run.last; line += 1) found.set(line, run);
    return found;
  }, [lines]);
  const margin = (line: number | null) => {
    const run = line === null ? undefined : runs.get(line);
    return run && line !== null && <LineAuthor run={run} line={line} authorOf={authorOf} />;
  };
  const place = `commit ${file.sha} ${file.path}`;
  return (
    <FileSection file={file} open={open} onToggle={() => setOpen(!open)} chosen={chosen} more={file.old_path && <PlainText className="muted" text={`was ${file.old_path}`} />}>
      {file.nodes.map((node, at) => (node.node === "diff" ? <Diff key={at} node={node} place={`${place} ${at}`} margin={margin} of={file.sha.slice(0, SHORT_SHA)} /> : <NodeList key={at} nodes={[node]} place={`${place} ${at}`} />))}
    </FileSection>
  );
}

/** Who wrote a line: the number on the first of several, the colour on each. Lines by hand have nothing. */
function LineAuthor({ run, line, authorOf }: { run: ReviewLines; line: number; authorOf: Authors }) {
  const author = run.session === null ? undefined : authorOf({ session: run.session, turn: run.turn });
  if (!author) return null;
  const { number, href, name, turn } = author;
  const guess = run.guess ? ` (a guess: ${GUESSES[run.evidence ?? ""] ?? run.evidence})` : "";
  if (line !== run.first) return <Mark author={author} guess={run.guess} />;
  const title = visible(`${name}${guess}${turn.prompt === null ? "" : `: ${turn.prompt}`}`);
  return (
    <Mark author={author} guess={run.guess}>
      {href ? (
        <a href={href} title={title} aria-label={`${name}${guess}`}>
          {number}
        </a>
      ) : (
        <span title={title}>{number}</span>
      )}
    </Mark>
  );
}
