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
  /** How it failed, in a few words. */
  note?: string;
  state: string;
  seconds: number | null;
  /** Shown after the title. */
  summary?: ReactNode;
  children: () => ReactNode;
}

export function CallRow({ name, label, title, tooltip = title, note = "", state, seconds, summary, children }: Props) {
  const mark = STATES[state];
  return (
    <Collapsible
      name={name}
      header={
        <>
          {label && (
            <span className="tool">
              <PlainText text={label} />
            </span>
          )}
          <span className="call-title" title={visible(tooltip)}>
            <bdi>
              <PlainText text={stripAnsi(title)} />
            </bdi>
            {note && (
              <span className="call-note">
                {" → "}
                <PlainText text={stripAnsi(note)} />
              </span>
            )}
            {summary}
          </span>
        </>
      }
      trailing={
        <span className="call-status">
          {mark && (
            <span className="state" role="img" aria-label={mark[1]} title={mark[1]}>
              {mark[0]}
            </span>
          )}
          {seconds !== null && <span title={`${exact(seconds)} s`}>{duration(seconds)}</span>}
        </span>
      }
    >
      {children}
    </Collapsible>
  );
}
