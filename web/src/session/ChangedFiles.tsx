/** The files that the session changed: a list, and for one of them its versions, one after the other. */

import { useId, useState } from "react";
import { useThreadStore } from "../contexts";
import { capitalized, plural, when } from "../kit/format";
import { PlainText } from "../kit/PlainText";
import { useAsync } from "../kit/useAsync";
import { NodeList } from "../nodes/NodeList";
import { sessionHref } from "../route";
import type { ChangedFile, ChangedVersion } from "../data/values";

const ACTIONS: Record<string, string> = {
  create: "created",
  edit: "edited",
  write: "written",
  shell: "changed by a command",
  rename: "renamed",
  delete: "deleted",
  outside: "changed from outside the session",
  rewind: "restored by a rewind",
};
const KNOWN: Record<string, string> = {
  bytes: "every byte is known",
  text: "the text is known",
  partial: "the whole text is not known",
};

export function ChangedFiles() {
  const { source, thread, total } = useThreadStore();
  const loaded = useAsync("files", () => source.files(thread), total);
  const [chosen, setChosen] = useState<number | null>(null);
  if (loaded.state === "loading") return <section className="about" aria-label="Files" aria-busy="true" />;
  if (loaded.state === "failed") return <p className="note error">{loaded.error.message}</p>;
  const { files } = loaded.value;
  return (
    <section className="about changed-files" aria-label="Files that this session changed">
      {files.length === 0 && <p className="muted">This session changed no files.</p>}
      <ul>
        {files.map((file, index) => (
          <li key={file.path}>
            <button type="button" className="changed-file" aria-expanded={chosen === index} onClick={() => setChosen(chosen === index ? null : index)}>
              <PlainText className="path" text={file.path} />
              <span className="num">
                <span className="added-lines">+{file.added}</span> <span className="removed-lines">−{file.removed}</span>
              </span>
              <span className="muted">{facts(file)}</span>
            </button>
            {chosen === index && <Versions key={file.path} file={file} index={index} />}
          </li>
        ))}
      </ul>
    </section>
  );
}

function facts(file: ChangedFile): string {
  const turns = file.turns.length === 1 ? `turn ${file.turns[0]}` : plural(file.turns.length, "turn");
  return [
    turns,
    file.agents ? plural(file.agents, "agent") : "",
    file.outside ? `changed from outside ${file.outside === 1 ? "once" : `${file.outside} times`}` : "",
    file.gone ? "gone" : "",
  ]
    .filter(Boolean)
    .join(" · ");
}

function Versions({ file, index }: { file: ChangedFile; index: number }) {
  const { source, thread } = useThreadStore();
  const [number, setNumber] = useState(file.versions.length - 1);
  const [whole, setWhole] = useState(false);
  const slider = useId();
  const place = Math.min(number, file.versions.length - 1);
  const version = file.versions[place];
  const loaded = useAsync(`${index} ${place} ${whole}`, () => source.fileVersion(thread, index, place, whole));
  if (!version) return null;
  return (
    <div className="versions">
      <p className="version-bar">
        {file.versions.length > 1 && (
          <>
            <label htmlFor={slider}>
              Version {place + 1} of {file.versions.length}
            </label>
            <input
              id={slider}
              type="range"
              min={1}
              max={file.versions.length}
              value={place + 1}
              aria-valuetext={`version ${place + 1} of ${file.versions.length}: ${ACTIONS[version.action] ?? version.action}`}
              onChange={(event) => setNumber(Number(event.target.value) - 1)}
            />
          </>
        )}
        <button type="button" className="link-button" aria-pressed={whole} onClick={() => setWhole(!whole)}>
          Whole file
        </button>
      </p>
      <p>
        <VersionFacts version={version} />
      </p>
      {loaded.state === "failed" && <p className="note error">{loaded.error.message}</p>}
      {loaded.state === "ready" && <NodeList nodes={loaded.value.nodes} place={`file${index}-${place}-${whole ? "whole" : "diff"}`} />}
    </div>
  );
}

function VersionFacts({ version }: { version: ChangedVersion }) {
  const { thread } = useThreadStore();
  const own = { session: thread.session, agent: version.agent ?? undefined };
  const target = version.call ? { call: version.call } : version.agent && version.line ? { line: version.line } : { turn: version.turn ?? 1 };
  return (
    <>
      {capitalized(ACTIONS[version.action] ?? version.action)}
      {version.other && (
        <>
          {": "}
          <PlainText text={version.other} />
        </>
      )}
      {version.turn !== null && (
        <>
          {" in "}
          <a href={sessionHref(own, target)}>
            turn {version.turn}
            {version.agent ? ", by an agent" : ""}
          </a>
        </>
      )}
      <span className="muted">
        {" · "}+{version.added} −{version.removed}
        {version.time ? ` · ${when(version.time)}` : ""} · {KNOWN[version.known] ?? version.known}
      </span>
    </>
  );
}
