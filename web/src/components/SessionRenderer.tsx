/** A whole session: its header and the messages of a branch. */

import { useMemo } from "react";
import { TokensAndCost } from "../kit/Figure";
import { day, folder, model, plural, timeOfDay } from "../kit/format";
import { PlainText } from "../kit/PlainText";
import { Conversation } from "./Conversation";
import { branchMessages, figuresOf } from "./jsonThread";
import { MessageRows } from "./MessageRows";
import { plainMessages } from "./plainText";
import { fromRecords, isRecord, type TranscriptRecord } from "./records";
import type { ImportedSession, Session, SessionMessage } from "./sessionJson";
import type { StreamMessage } from "./streamValues";

export interface SessionRendererProps {
  /** What `reread show -f json` prints, parsed or imported. */
  session?: Session | ImportedSession;
  /** The messages alone, if there is no session: those of its JSON, or the records of a transcript or a stream. */
  messages?: readonly (SessionMessage | TranscriptRecord | StreamMessage)[];
  /** The id of a branch; the active one if it is left out. */
  branch?: number;
  /** Light or dark; the choice of the system if it is left out. */
  theme?: "light" | "dark";
  className?: string;
}

export function SessionRenderer({ session: given, messages, branch, theme, className }: SessionRendererProps) {
  const session = given as Session | undefined;
  const shown = useMemo(() => {
    if (session) return { ...session, messages: branchMessages(session, branch) };
    const records = (messages ?? []).filter(isRecord);
    return records.length ? fromRecords(records) : { calls: [], messages: (messages ?? []) as SessionMessage[] };
  }, [session, messages, branch]);
  const plain = () => [session?.title, plainMessages(shown.messages)].filter(Boolean).join("\n\n");
  return (
    <Conversation theme={theme} className={className} plain={plain} of={shown}>
      {(items) => (
        <>
          {session && <SessionHeader session={session} />}
          <MessageRows items={items} />
        </>
      )}
    </Conversation>
  );
}

function SessionHeader({ session }: { session: Session }) {
  const { title, project, models, started, messages } = session;
  const figures = figuresOf(session.usage);
  return (
    <header className="session-head">
      <PlainText as="h1" dir="auto" text={title || "(no title)"} />
      <p className="session-location">
        <PlainText title={project} text={folder(project)} />
        {started && (
          <time dateTime={started}>
            {day(started)} {timeOfDay(started)}
          </time>
        )}
        {models.map((name) => (
          <PlainText key={name} title={name} text={model(name)} />
        ))}
        <span>{plural(messages.length, "message")}</span>
        {figures.tokens > 0 && <TokensAndCost figures={figures} />}
      </p>
    </header>
  );
}
