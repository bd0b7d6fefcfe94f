/** The review before a session is shared: what will be replaced, by kind, a decision for each, the preview, the file. */

import { useEffect, useRef, useState, type FormEvent, type KeyboardEvent } from "react";
import { PanelContext } from "../contexts";
import { changeReview, FORMATS, loadReview, shareDocumentUrl, sharePreviewUrl, type ShareChange } from "../data/sharing";
import type { ShareChoices, ShareFinding, ShareReview } from "../data/values";
import { ChipGroup } from "../kit/ChipGroup";
import { DisclosureButton } from "../kit/DisclosureButton";
import { exact, plural } from "../kit/format";
import { useKept } from "../kit/kept";
import { PlainText } from "../kit/PlainText";
import { toError } from "../kit/toError";
import { kindName } from "./findingKinds";
import { PanelLink, PlaceLink } from "./PanelLink";
import { MESSAGES, sharePreview } from "./SharePreview";
import { decisionTitle, summary, withDecisions } from "./shareReview";

const LEVELS: [level: string, title: string | null, note: string][] = [
  ["likely", null, "They may be secrets. Each is replaced or kept, as you decide: y replaces, n keeps."],
  ["certain", "Secrets", "They have a vendor’s format, or are your own texts."],
  ["personal", "Personal details", "Names, folders, hosts, mail addresses and remotes get pseudonyms."],
];
const FORMAT_NAMES: Record<string, string> = { html: "Page", markdown: "Markdown", json: "JSON", jsonl: "Session file" };

export function ShareTab({ session, chosen }: { session: string; chosen: string }) {
  const [answered, setAnswered] = useState<ShareReview | null>(null);
  /** The decisions that the server has not answered yet, by the ids of findings: they are shown at once. */
  const [asked, setAsked] = useState<Record<string, string>>({});
  const [error, setError] = useState<string | null>(null);
  const [form, setForm] = useKept<string>("share as", FORMATS[0]);
  const take = (answer: Promise<ShareReview>) =>
    answer.then(
      (next) => {
        setAnswered(next);
        setError(null);
      },
      (fault: unknown) => setError(toError(fault).message),
    );
  useEffect(() => void take(loadReview(session)).then(() => sharePreview.renew()), [session]);
  const queue = useRef<Promise<unknown>>(Promise.resolve());
  /** The choices that the server has not answered yet; what is shown is what it said. */
  const open = useRef<Partial<ShareChoices>>({});
  const change = (wanted: ShareChange) => {
    if (wanted.action === "decide") setAsked((before) => ({ ...before, ...Object.fromEntries(wanted.ids.map((id) => [id, wanted.decision])) }));
    const done = take(queue.current.then(() => changeReview(session, wanted))).then(() => {
      if (queue.current !== done) return;
      open.current = {};
      setAsked({});
      sharePreview.renew();
    });
    queue.current = done;
  };
  const choose = (choices: ShareChoices, changes: Partial<ShareChoices>) => {
    open.current = { ...open.current, ...changes };
    change({ action: "choose", choices: { ...choices, ...open.current } });
  };
  const review = answered && withDecisions(answered, asked);
  return (
    <section className="share-tab" aria-label="Share">
      {error !== null && <p role="alert">{error}</p>}
      {review === null && error === null && <p className="note">Looking for secrets and personal details…</p>}
      {review !== null && (
        <>
          <Summary findings={review.findings} />
          <Choices choices={review.choices} onChoose={(changes) => choose(review.choices, changes)} />
          <PanelContext value={{ tab: "share", chosen: MESSAGES }}>
            {LEVELS.map(([level, title, note]) => (
              <Level key={level} title={title} note={note} session={session} change={change}
                findings={review.findings.filter((finding) => finding.level === level)} />
            ))}
          </PanelContext>
          <OwnText onReplace={(text) => change({ action: "text", text })} />
          <div className="share-actions share-step">
            <ChipGroup label="Format" options={FORMATS} value={form as (typeof FORMATS)[number]} name={(name) => FORMAT_NAMES[name] ?? name} onChoose={setForm} />
            <Document review={review} saved={answered?.undecided === 0} session={session} form={form} previewed={chosen !== MESSAGES} />
          </div>
        </>
      )}
    </section>
  );
}

/** What one has to do, then what happens. */
function Summary({ findings }: { findings: ShareFinding[] }) {
  const { todo, result } = summary(findings);
  return (
    <p className="share-summary share-step" role="status">
      <strong>{todo}</strong> · {result}
    </p>
  );
}

const isWhole = (choices: ShareChoices) => choices.thinking && choices.turns === "";

interface DocumentProps {
  review: ShareReview;
  /** Whether the server knows that all is decided. */
  saved: boolean;
  session: string;
  form: string;
  previewed: boolean;
}

/** The preview, and the file as soon as it can be made. */
function Document({ review, saved, session, form, previewed }: DocumentProps) {
  const partly = form === "jsonl" && !isWhole(review.choices);
  return (
    <>
      {review.undecided === 0 && partly && <p className="note">The session's own file has all turns and thinking; choose another format.</p>}
      <p className="share-links">
        {review.undecided > 0 && (
          <button type="button" onClick={goToUndecided}>
            Decide {exact(review.undecided)} to share
          </button>
        )}
        {review.undecided === 0 && saved && !partly && (
          <a className="share-download" href={shareDocumentUrl(session, form)} download>
            Download
          </a>
        )}
        <PanelLink className="preview-beside" panel={{ tab: "share", chosen: previewed ? MESSAGES : "" }}>
          {previewed ? "Show the messages" : "Show the preview"}
        </PanelLink>
        <a className="preview-alone" href={sharePreviewUrl(session)} target="_blank" rel="noreferrer">
          Preview
        </a>
      </p>
    </>
  );
}

/** Where the keys decide: on the first finding, or the first after another, that nobody has decided about. */
function goToUndecided(): void {
  document.querySelector<HTMLElement>(".share-decision:not(:has([aria-pressed=true])) button")?.focus();
}

/** The keys that decide about the finding that has the focus. */
const KEYS: Record<string, (typeof ANSWERS)[number]> = { y: "replace", n: "keep" };

const SWITCHES = [["thinking", "Thinking"], ["agents", "Agents"], ["images", "Images"]] as const;

function Choices({ choices, onChoose }: { choices: ShareChoices; onChoose(changes: Partial<ShareChoices>): void }) {
  const [turns, setTurns] = useState(choices.turns);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (turns.trim() !== choices.turns) onChoose({ turns: turns.trim() });
  };
  return (
    <form className="share-text share-choices" onSubmit={submit} aria-label="What to share">
      <label>
        Turns <input value={turns} placeholder="all, or 3-9" size={10} onBlur={submit} onChange={(event) => setTurns(event.target.value)} />
      </label>
      <span role="group" aria-label="Included">
        {SWITCHES.map(([name, title]) => (
          <button key={name} type="button" className="chip" aria-pressed={choices[name]} onClick={() => onChoose({ [name]: !choices[name] })}>
            {title}
          </button>
        ))}
      </span>
    </form>
  );
}

interface FindingsProps {
  session: string;
  findings: ShareFinding[];
  change(wanted: ShareChange): void;
}

/** Findings of a level; one without a title says what is left to decide. */
function Level({ title, note, session, findings, change }: FindingsProps & { title: string | null; note: string }) {
  if (findings.length === 0) return null;
  const [name, count] = title === null ? decisionTitle(findings) : [title, exact(findings.length)];
  return (
    <section className="share-level" aria-label={name}>
      <h2 className={title === null ? "share-step" : undefined}>
        {name} <span className="muted num">{count}</span>
      </h2>
      <p className="note">{note}</p>
      <ul>
        {alike(findings).map((group) => (
          <Group key={group[0]!.id} session={session} findings={group} change={change} />
        ))}
      </ul>
    </section>
  );
}

/** Findings in groups that get one answer: those of one kind and, if they may be secrets, of one name. */
function alike(findings: ShareFinding[]): ShareFinding[][] {
  const groups = new Map<string, ShareFinding[]>();
  for (const finding of findings) {
    const key = finding.level !== "likely" || finding.name ? `${finding.kind} ${finding.name}` : finding.id;
    groups.set(key, [...(groups.get(key) ?? []), finding]);
  }
  return [...groups.values()];
}

/** Findings that get one answer; the only one is shown at once, several on request. */
function Group({ session, findings, change }: FindingsProps) {
  const [first] = findings;
  const [open, setOpen] = useKept(`values ${first?.id}`, false);
  if (!first) return null;
  const places = findings.reduce((sum, { count }) => sum + count, 0);
  const name = first.kind.split("-").includes(first.name) ? "" : first.name;
  const decide = (event: KeyboardEvent) => {
    const decision = KEYS[event.key];
    if (!decision || first.level !== "likely" || (event.target as HTMLElement).closest("li") !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return;
    event.stopPropagation(); // elsewhere, the keys step through the session
    change({ action: "decide", ids: findings.map(({ id }) => id), decision });
    requestAnimationFrame(goToUndecided);
  };
  return (
    <li onKeyDown={decide}>
      <p className="share-what">
        <strong>{kindName(first.kind)}</strong> {name && <PlainText text={`${name} `} />}
        <span className="muted">
          {findings.length > 1 && `${plural(findings.length, "value")} in `}
          {plural(places, "place")}
        </span>
      </p>
      {(findings.length === 1 || first.level === "likely") && <Finding finding={first} session={session} />}
      <Decision findings={findings} change={change} />
      {findings.length > 1 && (
        <DisclosureButton small open={open} onToggle={() => setOpen(!open)}>
          <span className="muted">Each of the {findings.length} values</span>
        </DisclosureButton>
      )}
      {open && (
        <ul>
          {findings.map((finding) => (
            <li key={finding.id}>
              <Finding finding={finding} session={session} />
              <Decision findings={[finding]} change={change} />
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}

function Finding({ finding, session }: { finding: ShareFinding; session: string }) {
  return (
    <>
      <p>
        <code>{finding.mask}</code>
        {finding.decision === "replace" && (
          <>
            {" → "}
            <code>{finding.replacement}</code>
          </>
        )}{" "}
        {finding.line > 0 && (
          <PlaceLink thread={{ session }} target={{ line: finding.line }}>
            line {finding.line}
          </PlaceLink>
        )}
        {finding.count > 1 && <span className="muted"> and {plural(finding.count - 1, "more place")}</span>}
      </p>
      {finding.context && (
        <p className="share-context" dir="auto">
          <PlainText text={finding.context} />
        </p>
      )}
    </>
  );
}

const ANSWERS = ["replace", "keep"] as const;

/** One decision for findings that are alike. */
function Decision({ findings, change }: Pick<FindingsProps, "findings" | "change">) {
  const ids = findings.map(({ id }) => id);
  const decided = ANSWERS.find((answer) => findings.every(({ decision }) => decision === answer)) ?? null;
  return (
    <p className="share-decision">
      <ChipGroup label="Decision" options={ANSWERS} value={decided} name={(answer) => (answer === "replace" ? "Replace" : "Keep")}
        onChoose={(decision) => change({ action: "decide", ids, decision })} />
      {decided === "keep" && (
        <button type="button" className="chip" title="In this and all other sessions" onClick={() => change({ action: "decide", ids, decision: "keep", everywhere: true })}>
          Keep everywhere
        </button>
      )}
    </p>
  );
}

function OwnText({ onReplace }: { onReplace(text: string): void }) {
  const [text, setText] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim()) onReplace(text);
    setText("");
  };
  return (
    <form className="share-text" onSubmit={submit}>
      <label>
        Also replace <input value={text} onChange={(event) => setText(event.target.value)} />
      </label>
      <button type="submit" disabled={!text.trim()}>
        Replace
      </button>
    </form>
  );
}
