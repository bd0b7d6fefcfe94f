/** The star, the note and the tags of a session, kept by reread and not by Claude Code. */

import { useEffect, useState } from "react";
import { useSource } from "../contexts";
import { PlainText } from "../kit/PlainText";
import { toError } from "../kit/toError";
import { useActions } from "../shell/actions";
import { useShortcuts } from "../shell/shortcuts";
import type { Annotation } from "../data/source";

const LONGEST = 4000;

export function StarAndNote({ session }: { session: string }) {
  const source = useSource();
  const [known, setKnown] = useState<Annotation | null>(null);
  const [draft, setDraft] = useState<string | null>(null);
  const [tag, setTag] = useState<string | null>(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    const load = () => {
      if (!document.hidden) source.annotation(session).then(setKnown, (error: unknown) => setProblem(toError(error).message));
    };
    load();
    addEventListener("visibilitychange", load); // another tab may have changed it
    return () => removeEventListener("visibilitychange", load);
  }, [source, session]);
  const star = () => {
    if (!known) return;
    source.annotate(session, { starred: !known.starred }).then(
      (changed) => {
        setKnown(changed);
        setProblem("");
      },
      (error: unknown) => setProblem(toError(error).message),
    );
  };
  const save = () => {
    if (!known || draft === null) return;
    source.annotate(session, { note: draft, was: known.note }).then(
      (changed) => {
        setKnown(changed);
        if (changed.saved) setDraft(null);
        setProblem(changed.saved ? "" : "This note was changed elsewhere, as shown above. Save again to replace it.");
      },
      (error: unknown) => setProblem(toError(error).message),
    );
  };
  const label = (change: { tag?: string[]; untag?: string[] }) =>
    source.annotate(session, change).then(
      (changed) => {
        setKnown(changed);
        setTag(null);
        setProblem("");
      },
      (error: unknown) => setProblem(toError(error).message),
    );
  const edit = () => setDraft(draft ?? known?.note ?? "");
  const starred = known?.starred ?? false;
  useActions([{ name: "Write a note about this session", also: "comment annotate remark", run: edit },
    { name: "Add a tag to this session", also: "label", run: () => setTag(tag ?? "") },
  ]);
  useShortcuts({ [starred ? "unstar" : "star"]: star });
  return (
    <div className="star-and-note">
      <button type="button" className="link-button star" aria-pressed={starred} title="Star this session (s)" onClick={star}>
        {starred ? "★ Starred" : "☆ Star"}
      </button>
      {known?.note && (draft === null || problem) && <PlainText as="p" className="session-note" dir="auto" text={known.note} />}
      {draft === null ? (
        <button type="button" className="link-button" onClick={edit}>
          {known?.note ? "Edit note" : "Add a note"}
        </button>
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            save();
          }}
        >
          <textarea
            aria-label="Note"
            autoFocus
            rows={2}
            maxLength={LONGEST}
            value={draft}
            onChange={(event) => setDraft(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === "Escape") setDraft(null);
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save();
            }}
          />
          <button type="submit">Save</button>{" "}
          <button type="button" className="link-button" onClick={() => setDraft(null)}>
            Cancel
          </button>
        </form>
      )}
      {known?.tags.map((one) => (
        <button key={one} type="button" className="link-button" title="Take this tag away" onClick={() => void label({ untag: [one] })}>
          <PlainText text={`#${one}`} /> ×
        </button>
      ))}
      {tag === null ? (
        <button type="button" className="link-button" onClick={() => setTag("")}>
          Add a tag
        </button>
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void label({ tag: tag.split(/[\s,]+/).filter(Boolean) });
          }}
        >
          <input aria-label="Tag" autoFocus maxLength={40} value={tag} onChange={(event) => setTag(event.target.value)} onKeyDown={(event) => event.key === "Escape" && setTag(null)} />
          <button type="submit">Add</button>
        </form>
      )}
      {problem && (
        <p className="note warning" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}
