/** The last text of a file, each line with the turn of this session that wrote it. */

import { useMemo } from "react";
import { useThreadStore } from "../contexts";
import { Lines } from "../kit/Lines";
import { LongText } from "../kit/LongText";
import { useAsync } from "../kit/useAsync";
import type { BlamedLines, ChangedFile } from "../data/values";
import { PlaceLink } from "./PanelLink";

/** Longer lines are shown on request. */
const LONGEST = 5000;

export function FileBlameView({ file, index }: { file: ChangedFile; index: number }) {
  const { source, thread } = useThreadStore();
  const loaded = useAsync(`blame ${index}`, () => source.fileBlame(thread, index), file.versions.length);
  const runs = loaded.state === "ready" ? loaded.value.runs : null;
  const rows = useMemo(() => runs?.flatMap((run) => run.lines.map((text, at) => ({ run, text, first: at === 0 }))) ?? [], [runs]);
  if (loaded.state === "failed") return <p className="note error">{loaded.error.message}</p>;
  if (loaded.state === "loading") return <p className="muted loading">Loading…</p>;
  if (!loaded.value.known) return <p className="note">{file.status === "deleted" ? "The file was deleted." : "Not all of the text is known."}</p>;
  return (
    <>
      <Lines
        className="blame"
        count={rows.length}
        place={`blame${index}`}
        label={`lines of ${file.path} and the turns that wrote them`}
        text={() => rows.map(({ text }) => text).join("\n")}
        line={(at) => {
          const row = rows[at];
          if (!row) return null;
          return (
            <div key={at} className={row.run.turn === null ? "line" : "line own"}>
              <span className="blame-turn">{row.first && <Origin run={row.run} />}</span>
              <span className="line-number" data-n={at + 1} />
              <code>
                <LongText text={row.text} first={LONGEST} />
                {"\n"}
              </code>
            </div>
          );
        }}
      />
      {loaded.value.more && <p className="note">The rest of the file is not shown.</p>}
    </>
  );
}

function Origin({ run: { turn, prompt, call, agent } }: { run: BlamedLines }) {
  const { thread } = useThreadStore();
  if (turn === null) return null;
  return (
    <PlaceLink thread={{ session: thread.session }} target={call ? { call } : { turn }} title={agent ? `By an agent: ${prompt}` : prompt}>
      turn {turn}
      {agent && " ◇"}
    </PlaceLink>
  );
}
