/** A call on one line: the tool, what it did, how it ended and how long it took. Opening the line shows its content. */

import type { ReactNode } from "react";
import { stripAnsi } from "../kit/ansi";
import { duration, exact } from "../kit/format";
import { PlainText, visible } from "../kit/PlainText";
import { Collapsible } from "./Collapsible";

const STATES: Record<string, [icon: string, label: string]> = {
  running: ["◌", "running"],
  failed: ["✗", "failed"],
  denied: ["⊘", "denied"],
  interrupted: ["⊘", "interrupted"],
};

interface Props {
  /** The key under which it is remembered that the line is open. */
  name: string;
  label: string;
  title: string;
  /** The whole title, if `title` is a shorter form of it. */
  tooltip?: string;
  /** The command that it ran, shown after the title. */
  detail?: string;
  /** Whether the title ends with the numbers of lines added and removed. */
  counted?: boolean;
  /** How it failed, in a few words. */
  note?: string;
  state: string;
  seconds: number | null;
  /** Shown after the title. */
  summary?: ReactNode;
  /** Shown after the line, outside its button, and what is shown below the line. */
  aside?: ReactNode;
  below?: ReactNode;
  children: () => ReactNode;
}

export function CallRow({ name, label, title, tooltip = title, detail = "", counted = false, note = "", state, seconds, summary, aside, below, children }: Props) {
  const mark = STATES[state];
  return (
    <Collapsible
      name={name}
      header={
        <>
          {label && <PlainText className="tool" text={label} />}
          <span className="call-title" title={visible(tooltip)}>
            <bdi>
              <Title text={stripAnsi(title)} counted={counted} />
            </bdi>
            {note && (
              <span className="call-note">
                {" → "}
                <PlainText text={stripAnsi(note)} />
              </span>
            )}
            {detail && (
              <span className="call-detail">
                {" "}
                <PlainText text={stripAnsi(detail)} />
              </span>
            )}
            {summary}
          </span>
        </>
      }
      trailing={
        <>
          {aside}
          <span className="call-status">
            {mark && (
              <span className="state" role="img" aria-label={mark[1]} title={mark[1]}>
                {mark[0]}
              </span>
            )}
            {seconds !== null && <span title={`${exact(seconds)} s`}>{duration(seconds)}</span>}
          </span>
        </>
      }
      below={below}
    >
      {children}
    </Collapsible>
  );
}

const COUNTS = /^(.*?)( \+\d+)?( −\d+)?$/s;

function Title({ text, counted }: { text: string; counted: boolean }) {
  const [, words = text, added, removed] = (counted && COUNTS.exec(text)) || [];
  return (
    <>
      <PlainText text={words} />
      {added && <span className="added-lines">{added}</span>}
      {removed && <span className="removed-lines">{removed}</span>}
    </>
  );
}
