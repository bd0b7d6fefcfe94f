/** What a search over all sessions found: sessions by their titles, then texts by session. */

import { type KeyboardEvent, type ReactNode } from "react";
import { ChipGroup } from "../kit/ChipGroup";
import { ago, exact, folder, fullTime, inProject, plural, size } from "../kit/format";
import { PlainText, visible } from "../kit/PlainText";
import { parseRoute, sessionHref } from "../route";
import { ORDERS, type Order } from "../data/source";
import type { FoundSession, FoundText, LibraryRow, LibrarySearch } from "../data/values";
import { sortSessions, type Sort } from "./groupSessions";
import { MenuChip } from "./FilterBar";
import type { LibrarySearcher } from "./librarySearch";
import { periodName } from "./ColumnChart";
import { SessionList } from "./SessionList";

/** How many sessions are shown before the texts. */
const FEW = 6;
/** How many texts are shown at first, and then. */
export const STEPS = [20, 100, 200] as const;
/** Characters shown before a match: more would push it out of the two lines of a hit. */
const BEFORE = 60;

const KINDS: Record<string, string> = { text: "answer", input: "call" };
/** The kinds of text that are code or output more often than prose. */
const PRINTED = new Set(["input", "result"]);
const LINKS = ".search-results a";

interface Props {
  searcher: LibrarySearcher;
  /** The sessions whose row has the words of the query. */
  sessions: LibraryRow[];
  query: string;
  count: number;
  onCount(count: number): void;
  allSessions: boolean;
  onAllSessions(): void;
  sort: Sort;
  onSort(sort: string): void;
  order: Order;
  onOrder(order: Order): void;
  onQuery(query: string): void;
}

export function SearchResults(props: Props) {
  const { searcher, query, count, onCount, order, onOrder, onQuery } = props;
  const { found, error, waiting } = searcher;
  const sessions = withTitles(props.sessions, waiting ? null : found);
  return (
    <div className="search-results" onKeyDown={stepThroughLinks}>
      {sessions.length > 0 && <Sessions {...props} sessions={sessions} />}
      <section aria-labelledby="found-texts">
        <div className="results-head">
          <h2 id="found-texts">Texts</h2>
          <p className="muted num" role="status">
            {error && !waiting ? "" : found && !waiting ? summary(found, query) : <span className="delayed">Searching…</span>}
          </p>
          <ChipGroup label="Sort texts" options={ORDERS} value={order} name={(name) => ORDER_NAMES[name]} onChoose={onOrder} />
        </div>
        {error && !waiting && <Problem error={error} />}
        {found && (
          <div aria-busy={waiting}>
            <Limits found={found} />
            <Facets facets={found.facets} query={query} onQuery={onQuery} />
            {found.sessions.map((session) => (
              <Found key={session.key} session={session} query={query} all={found.next === null} />
            ))}
            {found.next !== null && <More count={count} onCount={onCount} />}
          </div>
        )}
      </section>
    </div>
  );
}

const ORDER_NAMES: Record<Order, string> = { relevance: "Best", newest: "Newest" };

function summary({ total, with_all, with_some }: LibrarySearch, query: string): string {
  if (!total) return `No results for “${query.trim()}”`;
  if (with_some && !with_all) return `No session has all words near each other; ${plural(with_some, "session")} with some`;
  if (with_some) return `${plural(with_all, "session")} with all words, ${exact(with_some)} with some`;
  return plural(total, "text") + (with_all ? ` in ${plural(with_all, "session")}` : "");
}

const FACETS = ["project", "kind", "tool", "month"] as const;

/** What there is among the hits: a choice narrows the search to it. */
function Facets({ facets, query, onQuery }: { facets: LibrarySearch["facets"]; query: string; onQuery(query: string): void }) {
  const offered = FACETS.map((name) => [name, Object.entries(facets[name] ?? {})] as const).filter(([, values]) => values.length > 1);
  if (!offered.length) return null;
  return (
    <div className="facets">
      {offered.map(([name, values]) => (
        <MenuChip
          key={name}
          name={name}
          label={`Narrow by ${name}`}
          options={values.map(([value]) => [value, name === "project" ? folder(value) : name === "month" ? periodName(value) : (KINDS[value] ?? value)])}
          onChoose={(value) => onQuery(narrowed(query, name, value))}
        />
      ))}
    </div>
  );
}

/** A query that asks for this value, too. */
function narrowed(query: string, name: string, value: string): string {
  const field = name === "month" ? "on" : name;
  return `${query.trim()} ${field}:${/[\s"]/.test(value) ? `"${value.replaceAll('"', "")}"` : value}`;
}

/** The sessions, and those that only the server finds, since it knows what the fields of a query mean. */
function withTitles(sessions: LibraryRow[], found: LibrarySearch | null): LibraryRow[] {
  const keys = new Set(sessions.map(({ key }) => key));
  return [...sessions, ...(found?.titles ?? []).filter(({ key }) => !keys.has(key))];
}

function Sessions({ sessions, allSessions, onAllSessions, sort, onSort }: Props) {
  const shown = allSessions ? sessions : sessions.slice(0, FEW);
  return (
    <section aria-labelledby="found-sessions">
      <div className="results-head">
        <h2 id="found-sessions">Sessions</h2>
        <p className="muted num" role="status">
          {plural(sessions.length, "session")}
        </p>
      </div>
      <SessionList
        rows={sortSessions(sessions, sort)
          .slice(0, shown.length)
          .map((session) => ({ kind: "session", session, showProject: true, nested: false }))}
        sort={sort}
        onSort={onSort}
      />
      {shown.length < sessions.length && (
        <button type="button" className="show-more" onClick={onAllSessions}>
          All {exact(sessions.length)} sessions
        </button>
      )}
    </section>
  );
}

function Problem({ error }: { error: Error }) {
  return (
    <p className="note error" role="alert">
      {error.message}
    </p>
  );
}

function Limits({ found }: { found: LibrarySearch }): ReactNode {
  return (
    <div role="status">
      {found.pending > 0 ? (
        <p className="note">Indexing: {size(found.pending)} left. More results appear by themselves.</p>
      ) : (
        found.note && <p className="note warning">{found.note}</p>
      )}
    </div>
  );
}

function Found({ session, query, all }: { session: FoundSession; query: string; all: boolean }) {
  const { key, title, project, hits } = session;
  return (
    <section className="found" aria-label={visible(title)}>
      <p className="found-session">
        <a href={sessionHref({ session: key }, {}, query)}>
          <PlainText as="bdi" text={title || "(no prompt yet)"} />
        </a>
        <span className="muted found-project" title={visible(project)}>
          {folder(project)}
        </span>
        <span className="muted num">{all ? plural(hits.length, "hit") : hits.length === 1 ? "the first hit" : `the first ${exact(hits.length)} hits`}</span>
      </p>
      <ol>
        {hits.map((hit) => (
          <li key={`${hit.link} ${hit.kind} ${hit.before}`}>
            <Hit hit={hit} project={project} query={query} />
          </li>
        ))}
      </ol>
    </section>
  );
}

function Hit({ hit, project, query }: { hit: FoundText; project: string; query: string }) {
  const { tool, kind, turn, agent, file, time } = hit;
  return (
    <a className="found-text" href={withQuery(hit.link, query)}>
      <span className="hit-place">
        <span>{[tool, KINDS[kind] ?? kind].filter(Boolean).join(" ")}</span>
        {file && (
          <span className="hit-file" title={visible(file)}>
            <PlainText as="code" text={inProject(file, project)} />
          </span>
        )}
        {agent && <span>◇ agent</span>}
        {turn !== null && <span className="num">turn {exact(turn)}</span>}
        {time && (
          <time dateTime={time} title={fullTime(time)}>
            {ago(time)}
          </time>
        )}
      </span>
      <span className={PRINTED.has(kind) ? "hit-text printed" : "hit-text"} dir="auto">
        {markedPieces(hit).map(([text, isMarked], at) =>
          isMarked ? (
            <mark key={at}>
              <PlainText text={text} />
            </mark>
          ) : (
            <PlainText key={at} text={text} />
          ),
        )}
      </span>
    </a>
  );
}

/** The text of a hit in pieces, those that are marked and those between. Marks count characters, not UTF-16 units. */
function markedPieces({ before, match, after, marks }: FoundText): [text: string, isMarked: boolean][] {
  const characters = [...before, ...match, ...after];
  const pieces: [string, boolean][] = [];
  let at = Math.max(0, [...before].length - BEFORE);
  if (at) pieces.push(["…", false]);
  for (const [start = 0, end = 0] of marks.filter(([start = 0]) => start >= at)) {
    pieces.push([characters.slice(at, start).join(""), false], [characters.slice(start, end).join(""), true]);
    at = end;
  }
  return [...pieces, [characters.slice(at).join(""), false]];
}

function More({ count, onCount }: { count: number; onCount(count: number): void }) {
  const next = STEPS.find((step) => step > count);
  if (next === undefined)
    return (
      <p className="note">
        These are the first {exact(count)}. Add words, or a field such as <code>tool:bash</code> or{" "}
        <code>since:7d</code>.
      </p>
    );
  return (
    <button type="button" className="show-more" onClick={() => onCount(next)}>
      More texts
    </button>
  );
}

/** The address of a hit, where the same search goes on in its session. */
function withQuery(link: string, query: string): string {
  const route = parseRoute(link);
  return route.page === "session" ? sessionHref(route.thread, route.target, query.trim()) : link;
}

/** Arrow keys go from one result to the next. */
function stepThroughLinks(event: KeyboardEvent): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const links = [...document.querySelectorAll<HTMLElement>(LINKS)];
  const at = links.indexOf(event.target as HTMLElement);
  if (!step || at < 0) return;
  event.preventDefault();
  (links[at + step] ?? document.querySelector<HTMLElement>(".bar input[type=search]"))?.focus();
}

export const firstResult = (): HTMLElement | null => document.querySelector<HTMLElement>(LINKS);
