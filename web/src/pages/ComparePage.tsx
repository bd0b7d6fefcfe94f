/** Two sessions beside each other, turn by turn: as a session was recorded and as it was played again, for example. */

import { useEffect, useRef, useState } from "react";
import { useSource } from "../contexts";
import { exact, money, plural, tokens, when } from "../kit/format";
import { useKeptScroll } from "../kit/keepScroll";
import { PlainText } from "../kit/PlainText";
import { useAsync } from "../kit/useAsync";
import { sessionHref, type CompareRoute } from "../route";
import { Bar } from "../shell/Bar";
import { LoadError, Loading } from "../shell/PageStates";
import { useShortcuts } from "../shell/shortcuts";
import { UnknownPage } from "../shell/UnknownPage";
import type { Source } from "../data/source";
import type { ComparedFile, ComparedItem, ComparedSession, ComparedText, ComparedTurn, SessionComparison } from "../data/values";

const SIDES = ["one", "other"] as const;
type Side = (typeof SIDES)[number];
const NAMES: Record<Side, string> = { one: "first", other: "second" };
const MOST_PARTS = 6;
const DIFFERENT = ".compare [data-different]";

export function ComparePage({ route }: { route: CompareRoute }) {
  const { compare } = useSource();
  return compare ? <Loaded route={route} compare={compare} /> : <UnknownPage />;
}

function Loaded({ route, compare }: { route: CompareRoute; compare: NonNullable<Source["compare"]> }) {
  useKeptScroll();
  const [tries, setTries] = useState(0);
  const loaded = useAsync(`${route.one} ${route.other} ${tries}`, () => compare(route.one, route.other));
  return (
    <>
      <Bar page="compare" />
      <main className="compare">
        {loaded.state === "loading" && <Loading />}
        {loaded.state === "failed" && <LoadError error={loaded.error} onRetry={() => setTries(tries + 1)} />}
        {loaded.state === "ready" && <Compared found={loaded.value} route={route} />}
      </main>
    </>
  );
}

function Compared({ found, route }: { found: SessionComparison; route: CompareRoute }) {
  const { beside, files } = found;
  const current = useRef(-1);
  const step = (by: number) => {
    const all = [...document.querySelectorAll<HTMLElement>(DIFFERENT)];
    if (!all.length) return;
    current.current = Math.min(Math.max(current.current + by, 0), all.length - 1);
    const chosen = all[current.current]!;
    chosen.focus({ preventScroll: true });
    chosen.scrollIntoView({ block: "nearest" });
  };
  useShortcuts({ nextDifference: () => step(1), previousDifference: () => step(-1) });
  useEffect(() => {
    document.querySelector(DIFFERENT)?.scrollIntoView({ block: "nearest" });
  }, []);
  const different = beside.turns.filter((turn) => turn.differences).length;
  return (
    <>
      <header className="compare-head">
        <h1>
          {beside.first ? (
            <>
              The first difference is in <PlainText text={beside.first} />
            </>
          ) : (
            "No prompt, answer or call differs"
          )}
        </h1>
        {beside.differences > 0 && (
          <p>
            <span className="muted">
              {plural(beside.differences, "difference")} in {exact(different)} of {plural(beside.turns.length, "turn")}
            </span>
            <button type="button" title="The difference before it (p)" onClick={() => step(-1)}>
              Previous
            </button>
            <button type="button" title="The next difference (n)" onClick={() => step(1)}>
              Next
            </button>
          </p>
        )}
      </header>
      <div className="compare-sides">
        {SIDES.map((side) => (
          <Head key={side} session={found[side]} href={sessionHref({ session: route[side] })} side={side} />
        ))}
      </div>
      {beside.turns.map((turn, index) => (
        <Turn key={index} turn={turn} route={route} />
      ))}
      <Requests found={found} />
      {files.length > 0 && (
        <section>
          <h2>Files</h2>
          <ul className="compare-list">
            {files.map((file) => (
              <li key={file.path}>
                <PlainText as="code" text={file.path} /> <span className={file.status === "same" ? "muted" : "compare-mark"}>{leftAs(file)}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

function Head({ session, href, side }: { session: ComparedSession; href: string; side: Side }) {
  const facts = [
    plural(session.turns, "turn"),
    `${plural(session.calls, "call")}${session.failed ? `, ${exact(session.failed)} failed` : ""}`,
    session.tokens === null ? "" : `${tokens(session.tokens)} tokens`,
    session.cost_usd === null ? "" : money(session.cost_usd),
    session.started === null ? "" : when(session.started),
  ].filter(Boolean);
  return (
    <div>
      <h2>
        <span className="muted">{NAMES[side]}</span>{" "}
        <a href={href}>
          <PlainText text={session.title} />
        </a>
      </h2>
      <p className="muted">{facts.join(" · ")}</p>
    </div>
  );
}

function Turn({ turn, route }: { turn: ComparedTurn; route: CompareRoute }) {
  const { one, other } = turn;
  const name = one === other ? `Turn ${one}` : one === null ? `Turn ${other} of the second` : other === null ? `Turn ${one} of the first` : `Turn ${one} and ${other}`;
  return (
    <section className="compare-turn">
      <h2>
        {name} <PlainText className="compare-prompt" text={turn.prompt} />{" "}
        <span className="muted">{turn.differences ? "" : `equal · ${plural(turn.calls, "call")}`}</span>
      </h2>
      {turn.differences > 0 && turn.items.length === 0 && (
        <p className="compare-item" data-different tabIndex={-1}>
          {plural(turn.differences, "difference")}, not listed here
        </p>
      )}
      {turn.items.map((item, index) => (item.difference ? <Different key={index} item={item} turn={turn} route={route} /> : <Equal key={index} item={item} />))}
    </section>
  );
}

function Equal({ item }: { item: ComparedItem }) {
  if (!item.one || item.kind === "prompt") return null; // the prompt heads the turn
  return (
    <p className="compare-item compare-equal">
      <PlainText text={item.one.line} /> <span className="muted">{item.one.state}</span>
    </p>
  );
}

function Different({ item, turn, route }: { item: ComparedItem; turn: ComparedTurn; route: CompareRoute }) {
  const label = `${item.kind}: ${item.difference}`;
  return (
    <div className="compare-item compare-different" data-different tabIndex={-1} role="group" aria-label={label}>
      <p className="compare-mark">
        <PlainText text={label} />
      </p>
      <div className="compare-sides">
        {SIDES.map((side) => (
          <div key={side}>
            {item[side] ? <Text text={item[side]} session={route[side]} turn={turn[side]} side={side} /> : <p className="muted">nothing in the {NAMES[side]}</p>}
          </div>
        ))}
      </div>
    </div>
  );
}

function Text({ text, session, turn, side }: { text: ComparedText; session: string; turn: number | null; side: Side }) {
  const thread = { session, ...(text.agent && { agent: text.agent }) };
  const target = text.call ? { call: text.call } : turn === null ? {} : { turn };
  return (
    <>
      <p>
        <span className="muted compare-side">{NAMES[side]} </span>
        <a href={sessionHref(thread, target)}>
          <PlainText text={text.call ? text.line : `Turn ${turn}`} />
        </a>
        {text.state && <strong> {text.state}</strong>}
      </p>
      {text.text && (
        <pre tabIndex={0}>
          <PlainText text={text.text} />
        </pre>
      )}
    </>
  );
}

function Requests({ found: { beside } }: { found: SessionComparison }) {
  if (!beside.requests)
    return (
      <section>
        <p className="muted">No API requests can be compared: Claude Code notes them from 2.1.325 on.</p>
      </section>
    );
  const more = beside.parts.length - MOST_PARTS;
  return (
    <section>
      <h2>
        Requests <span className="muted">{beside.different_requests ? `${exact(beside.different_requests)} of ${exact(beside.requests)} differ` : `all ${exact(beside.requests)} are equal`}</span>
      </h2>
      <ul className="compare-list">
        {beside.parts.slice(0, MOST_PARTS).map(({ words, requests }) => (
          <li key={words}>
            <PlainText className="compare-mark" text={words} /> <span className="muted">in {plural(requests, "request")}</span>
          </li>
        ))}
        {more > 0 && <li className="muted">{plural(more, "other part")}</li>}
      </ul>
    </section>
  );
}

/** How the two leave a file. */
function leftAs({ status, whole, added, removed }: ComparedFile): string {
  if (status === "created") return "changed by the second only";
  if (status === "deleted") return "changed by the first only";
  if (!whole) return "changed by both; the whole text is not known";
  return status === "same" ? "same text" : `other text: +${added} −${removed}`;
}
