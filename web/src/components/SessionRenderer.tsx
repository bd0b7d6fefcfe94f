/** A whole session: its header and the messages of a branch. */

import { useMemo } from "react";
import { day, folder, model, plural, timeOfDay } from "../kit/format";
import { PlainText, visible } from "../kit/PlainText";
import { branchMessages, callsById, ConversationContext } from "./conversation";
import { Figures } from "./MessageHeader";
import { MessageList } from "./MessageList";
import { fromRecords, isRecord, type TranscriptRecord } from "./records";
import { Root } from "./Root";
import type { Session, SessionMessage } from "./sessionJson";

export interface SessionRendererProps {
  /** What `reread show -f json` prints, parsed. */
  session?: Session;
  /** The messages alone, if there is no session: those of its JSON, or the records of a transcript. */
  messages?: readonly (SessionMessage | TranscriptRecord)[];
  /** The id of a branch; the active one if it is left out. */
  branch?: number;
  /** Light or dark; the choice of the system if it is left out. */
  theme?: "light" | "dark";
  className?: string;
}

export function SessionRenderer({ session, messages, branch, theme, className }: SessionRendererProps) {
  const shown = useMemo(() => {
    if (session) return { calls: session.calls, messages: branchMessages(session, branch) };
    const records = (messages ?? []).filter(isRecord);
    return records.length ? fromRecords(records) : { calls: [], messages: (messages ?? []) as SessionMessage[] };
  }, [session, messages, branch]);
  const conversation = useMemo(
    () => ({
      calls: callsById(shown.calls),
      agents: session?.agents ?? {},
      project: session?.project ?? "",
      messageList: MessageList,
    }),
    [shown, session],
  );
  return (
    <Root theme={theme} className={className}>
      <ConversationContext value={conversation}>
        {session && <SessionHeader session={session} />}
        <MessageList messages={shown.messages} />
      </ConversationContext>
    </Root>
  );
}

function SessionHeader({ session }: { session: Session }) {
  const { title, project, models, started, usage, messages } = session;
  return (
    <header className="session-head">
      <h1 dir="auto">
        <PlainText text={title || "(no title)"} />
      </h1>
      <p className="session-location">
        <span title={visible(project)}>
          <PlainText text={folder(project)} />
        </span>
        {started && (
          <time dateTime={started}>
            {day(started)} {timeOfDay(started)}
          </time>
        )}
        {models.map((name) => (
          <span key={name} title={visible(name)}>
            <PlainText text={model(name)} />
          </span>
        ))}
        <span>{plural(messages.length, "message")}</span>
        <Figures usage={usage} />
      </p>
    </header>
  );
}
