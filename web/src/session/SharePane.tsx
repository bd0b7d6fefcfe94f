/** The review before a session is shared: each finding in its place, a decision about each, the preview, the file. */

import { useEffect, useState, type FormEvent } from "react";
import { plural } from "../kit/format";
import { PlainText } from "../kit/PlainText";
import { toError } from "../kit/toError";
import { sessionHref } from "../route";
import { changeReview, FORMATS, loadReview, shareDocumentUrl, sharePreviewUrl, type ShareChange } from "../data/sharing";
import type { ShareChoices, ShareFinding, ShareReview } from "../data/values";

const LEVELS: [level: string, title: string, note: string][] = [
  ["likely", "To decide", "These may be secrets. Replace or keep each of them."],
  ["certain", "Secrets", "In the format of a vendor, or texts of your own. They are replaced."],
  ["personal", "Personal details", "Names, folders, hosts, mail addresses, remotes. They get pseudonyms."],
];

export function SharePane({ session, onClose }: { session: string; onClose(): void }) {
  const [review, setReview] = useState<ShareReview | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [form, setForm] = useState<string>(FORMATS[0]);
  const take = (answer: Promise<ShareReview>) =>
    answer.then(
      (next) => (setReview(next), setError(null), next),
      (fault: unknown) => (setError(toError(fault).message), null),
    );
  useEffect(() => void take(loadReview(session)), [session]);
  const change = (wanted: ShareChange) => take(changeReview(session, wanted));
  return (
    <section className="share-pane" aria-label="Share">
      <div className="share-head">
        <h2>Share</h2>
        <button type="button" className="link-button" onClick={onClose}>
          Close
        </button>
      </div>
      {error !== null && <p role="alert">{error}</p>}
      {review === null && error === null && <p>Looking for secrets and personal details …</p>}
      {review !== null && (
        <>
          <Choices choices={review.choices} onChoose={(choices) => void change({ action: "choose", choices })} />
          {LEVELS.map(([level, title, note]) => (
            <Findings key={level} title={title} note={note} session={session} change={change}
              findings={review.findings.filter((finding) => finding.level === level)} />
          ))}
          <OwnText onReplace={(text) => void change({ action: "text", text })} />
          <p className="share-actions">
            {review.undecided === 0 && (
              <a href={sharePreviewUrl(session)} target="_blank" rel="noreferrer">
                Preview
              </a>
            )}
            <label>
              Format{" "}
              <select value={form} onChange={(event) => setForm(event.target.value)}>
                {FORMATS.map((name) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            </label>
            {form === "jsonl" && !isWhole(review.choices) ? (
              <span>jsonl is the session's own file, with all turns and thinking; choose another format.</span>
            ) : review.undecided === 0 ? (
              <a className="share-download" href={shareDocumentUrl(session, form)} download>
                Download
              </a>
            ) : (
              <span>{plural(review.undecided, "finding")} to decide about before the file can be made.</span>
            )}
          </p>
        </>
      )}
    </section>
  );
}

const isWhole = (choices: ShareChoices) => choices.thinking && choices.turns === "";

const SWITCHES = [["thinking", "Thinking"], ["agents", "Agents"], ["images", "Images"]] as const;

function Choices({ choices, onChoose }: { choices: ShareChoices; onChoose(choices: ShareChoices): void }) {
  const [chosen, setChosen] = useState(choices);
  const choose = (next: ShareChoices) => (setChosen(next), onChoose(next));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (chosen.turns.trim() !== choices.turns) choose({ ...chosen, turns: chosen.turns.trim() });
  };
  return (
    <form className="share-text share-choices" onSubmit={submit} aria-label="What to share">
      <label>
        Turns{" "}
        <input value={chosen.turns} placeholder="all, or 3-9" onBlur={submit}
          onChange={(event) => setChosen({ ...chosen, turns: event.target.value })} />
      </label>
      {SWITCHES.map(([name, title]) => (
        <label key={name}>
          <input type="checkbox" checked={chosen[name]}
            onChange={(event) => choose({ ...chosen, [name]: event.target.checked })} />{" "}
          {title}
        </label>
      ))}
    </form>
  );
}

interface FindingsProps {
  title: string;
  note: string;
  session: string;
  findings: ShareFinding[];
  change(wanted: ShareChange): Promise<unknown>;
}

function Findings({ title, note, session, findings, change }: FindingsProps) {
  if (findings.length === 0) return null;
  return (
    <details open={findings.some((finding) => finding.decision === null)}>
      <summary>
        {title} ({findings.length})
      </summary>
      <p className="share-note">{note}</p>
      <ul className="share-findings">
        {alike(findings).map((group) => (
          <li key={group[0]!.id}>
            <Finding finding={group[0]!} session={session} others={group.length - 1} />
            <Decision findings={group} change={change} />
            {group.length > 1 && (
              <details>
                <summary>Decide about each of the {group.length} values</summary>
                <ul>
                  {group.map((finding) => (
                    <li key={finding.id}>
                      <Finding finding={finding} session={session} others={0} />
                      <Decision findings={[finding]} change={change} />
                    </li>
                  ))}
                </ul>
              </details>
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}

/** Findings in groups: those of one kind and name, of which a tool may print many, get the same answer. */
function alike(findings: ShareFinding[]): ShareFinding[][] {
  const groups = new Map<string, ShareFinding[]>();
  for (const finding of findings) {
    const key = finding.name ? `${finding.kind} ${finding.name}` : finding.id;
    groups.set(key, [...(groups.get(key) ?? []), finding]);
  }
  return [...groups.values()];
}

function Finding({ finding, session, others }: { finding: ShareFinding; session: string; others: number }) {
  return (
    <>
      <p className="share-what">
        <b>{finding.kind}</b> {finding.name && finding.name !== finding.kind && `${finding.name} `}
        <code>{finding.mask}</code>{" "}
        {finding.line > 0 && <a href={sessionHref({ session }, { line: finding.line })}>line {finding.line}</a>}
        {finding.count > 1 && ` and ${plural(finding.count - 1, "more place")}`}
        {others > 0 && `, and ${plural(others, "other value")} of this name`}
      </p>
      {finding.context && (
        <p className="share-context" dir="auto">
          <PlainText text={finding.context} />
        </p>
      )}
    </>
  );
}

/** One decision for findings that are alike. */
function Decision({ findings, change }: { findings: ShareFinding[]; change(wanted: ShareChange): Promise<unknown> }) {
  const ids = findings.map((finding) => finding.id);
  const all = (decision: string) => findings.every((finding) => finding.decision === decision);
  const decide = (decision: "replace" | "keep", everywhere = false) =>
    void change({ action: "decide", ids, decision, everywhere });
  return (
    <p className="share-decision">
      <button type="button" aria-pressed={all("replace")} onClick={() => decide("replace")}>
        Replace
      </button>
      <button type="button" aria-pressed={all("keep")} onClick={() => decide("keep")}>
        Keep
      </button>
      <button type="button" onClick={() => decide("keep", true)}>
        Keep everywhere
      </button>
      {findings.length === 1 && all("replace") && <code>{findings[0]!.replacement}</code>}
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
        Replace a text of your own <input value={text} onChange={(event) => setText(event.target.value)} />
      </label>
      <button type="submit" disabled={!text.trim()}>
        Replace
      </button>
    </form>
  );
}
