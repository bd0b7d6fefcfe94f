/** The versions of a file, one after the other, with a slider. */

import { useId } from "react";
import { useThreadStore } from "../contexts";
import { capitalized, when } from "../kit/format";
import { useKept } from "../kit/kept";
import { PlainText } from "../kit/PlainText";
import { useAsync } from "../kit/useAsync";
import { NodeList } from "../nodes/NodeList";
import type { ChangedFile, ChangedVersion } from "../data/values";
import { PlaceLink } from "./PanelLink";

const ACTIONS: Record<string, string> = {
  create: "created",
  edit: "edited",
  write: "written",
  shell: "changed by a command",
  rename: "renamed",
  delete: "deleted",
  outside: "changed outside the session",
  rewind: "restored by a rewind",
};
const KNOWN: Record<string, [name: string, meaning: string]> = {
  bytes: ["Exact", "Every byte of the file is known"],
  text: ["Text exact", "The text is known; line ends and encoding are not"],
  partial: ["Partly known", "Not all of the text is known"],
};

export function FileVersions({ file, index }: { file: ChangedFile; index: number }) {
  const { source, thread } = useThreadStore();
  const [number, setNumber] = useKept(`version ${file.path}`, file.versions.length - 1);
  const [whole, setWhole] = useKept(`whole ${file.path}`, false);
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
  const [known, meaning] = KNOWN[version.known] ?? [version.known, ""];
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
          <PlaceLink thread={own} target={target}>
            turn {version.turn}
            {version.agent ? ", by an agent" : ""}
          </PlaceLink>
        </>
      )}
      <span className="muted">
        {" · "}+{version.added} −{version.removed}
        {version.time ? ` · ${when(version.time)}` : ""} · <span title={meaning}>{known}</span>
      </span>
    </>
  );
}
