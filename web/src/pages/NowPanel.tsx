/** What runs now: the first lines of the library. */

import { useEffect, useRef, useState } from "react";
import { ago, fullTime } from "../kit/format";
import { PlainText } from "../kit/PlainText";
import type { LibraryNow, NowSession } from "../data/values";
import { sessionHref } from "../route";

/** A mark for each state, so that colour is not all that tells them apart. */
const MARKS: Record<string, string> = { waiting: "●", working: "▶", idle: "○", died: "✕" };

export function NowPanel({ now }: { now: LibraryNow }) {
  return (
    <section className="now" aria-label="Now">
      <p className="now-summary" role="status">
        <strong>Now:</strong> <span data-waiting={now.waiting > 0}>{now.summary}</span> <NotifyButton />
      </p>
      <ul>
        {now.sessions.map((session) => (
          <NowRow key={session.id} session={session} />
        ))}
      </ul>
    </section>
  );
}

function NowRow({ session }: { session: NowSession }) {
  const { key, title, project, git_branch, state, since, activity } = session;
  const line = (
    <>
      <span className="now-state">
        <span aria-hidden="true">{MARKS[state]}</span> {state === "waiting" ? "waits for you" : state}
      </span>
      <span className="now-title">
        <PlainText as="bdi" text={title} />
        <PlainText className="muted" text={[project, git_branch].filter(Boolean).join(" · ")} />
      </span>
      <span className="now-activity">
        <PlainText as="bdi" text={activity} />
        <span className="muted num">{since && ago(since)}</span>
      </span>
    </>
  );
  const when = since ? `Since ${fullTime(since)}` : undefined;
  return (
    <li className="now-row" data-state={state} title={when}>
      {key ? <a href={sessionHref({ session: key })}>{line}</a> : <div>{line}</div>}
    </li>
  );
}

const canNotify = () => typeof Notification !== "undefined";

export const notifyState = (): NotificationPermission => (canNotify() ? Notification.permission : "denied");

/** Asks for the permission to notify; the browser must be asked by a click. */
export function NotifyButton({ onChange }: { onChange?(permission: NotificationPermission): void }) {
  const [permission, setPermission] = useState(notifyState);
  if (permission !== "default") return null;
  const ask = async () => {
    const answer = await Notification.requestPermission();
    setPermission(answer);
    onChange?.(answer);
  };
  return (
    <button type="button" className="link-button" onClick={() => void ask()}>
      Notify me when a session waits
    </button>
  );
}

/** Notify when a session begins to wait or dies while nobody looks at the page; what the first answer says is no news. */
export function useNotifications(sessions: NowSession[] | undefined) {
  const before = useRef<Map<string, string> | null>(null);
  useEffect(() => {
    if (!sessions) return;
    const known = before.current;
    before.current = new Map(sessions.map(({ id, state }) => [id, state]));
    if (!known || !canNotify() || Notification.permission !== "granted" || document.hasFocus()) return;
    for (const { id, key, title, project, state, activity } of sessions) {
      if ((state !== "waiting" && state !== "died") || known.get(id) === state) continue;
      const notification = new Notification(`${project} ${state === "died" ? "died" : "waits for you"}`, { body: `${title}\n${activity}`, tag: id });
      notification.onclick = () => {
        window.focus();
        if (key) location.hash = sessionHref({ session: key });
      };
    }
  }, [sessions]);
}
