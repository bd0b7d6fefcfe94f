/** Which sessions changed a file? All files that calls changed, the last changed one first. */

import { useState } from "react";
import { useSource } from "../contexts";
import { ago, exact, folder, fullTime, plural } from "../kit/format";
import { useKeptScroll } from "../kit/keepScroll";
import { useKept } from "../kit/kept";
import { PlainText } from "../kit/PlainText";
import { useCount } from "../kit/useAsync";
import { LineCounts } from "../nodes/ChangedFiles";
import { reportHref, sessionHref, stayAt, withPanel, type ReportRoute } from "../route";
import { Bar } from "../shell/Bar";
import { Empty, LoadError, Loading } from "../shell/PageStates";
import type { FileSession, RecentFile } from "../data/source";
import { Counting, onlyOf, ReportFilters } from "./reportParts";

export function FilesPage({ route }: { route: ReportRoute }) {
  const source = useSource();
  useKeptScroll();
  const [tries, setTries] = useState(0);
  const { path = "" } = route.choices;
  const only = onlyOf(route.choices);
  const loaded = useCount(JSON.stringify([path, only, tries]), () => source.report<{ files: RecentFile[]; total: number; pending?: number }>("files", { path, ...only }));
  const change = (changes: Record<string, string | null>, inPlace = false) => stayAt(reportHref(route, changes), { inPlace });
  return (
    <>
      <Bar page="files" />
      <main className="usage files-page">
        <div className="usage-head">
          <h1>Files</h1>
          <div className="choices">
            {loaded.state === "ready" && !loaded.isCurrent && <Counting />}
            <ReportFilters only={only} reports={["files"]} onChange={(changes) => change(changes)} />
          </div>
        </div>
        <p className="search">
          <input type="search" placeholder="Part of a path" aria-label="Part of a path" value={path} onChange={(event) => change({ path: event.target.value || null }, true)} />
        </p>
        <div className="found-files" aria-busy={loaded.state === "ready" && (!loaded.isCurrent || Boolean(loaded.value.pending))}>
          {loaded.state === "loading" && <Loading />}
          {loaded.state === "failed" && <LoadError error={loaded.error} onRetry={() => setTries(tries + 1)} />}
          {loaded.state === "ready" && <Found {...loaded.value} path={path} />}
        </div>
      </main>
    </>
  );
}

function Found({ files, total, path }: { files: RecentFile[]; total: number; path: string }) {
  if (!files.length) return <Empty title={path ? `No changed file has “${path}” in its path` : "No session has changed a file"} />;
  return (
    <>
      <ul className="recent-files">
        {files.map((file) => (
          <FileRow key={file.path} file={file} />
        ))}
      </ul>
      <p className="note">
        {total > files.length && `The last ${files.length} of ${exact(total)}. `}Changes by Edit and Write; what commands changed is in the Files of each session.
      </p>
    </>
  );
}

function FileRow({ file }: { file: RecentFile }) {
  const [open, setOpen] = useKept(`sessions of ${file.path}`, false);
  const at = Math.max(file.file.lastIndexOf("/"), file.file.lastIndexOf("\\")) + 1;
  return (
    <li>
      <button type="button" className="recent-file" aria-expanded={open} onClick={() => setOpen(!open)} title={file.path}>
        <span className="arrow" aria-hidden="true" />
        <span className="path">
          <PlainText className="muted" text={file.file.slice(0, at)} />
          <PlainText text={file.file.slice(at)} />
        </span>
        <PlainText className="muted recent-project" text={file.project ? folder(file.project) : ""} />
        <LineCounts {...file} />
        <span className="num muted">{plural(file.count, "session")}</span>
        <When ms={file.last_ms} />
      </button>
      {open && (
        <ul className="file-sessions">
          {file.sessions.map((one) => (
            <li key={`${one.key} ${one.session}`}>
              <SessionLink session={one} />
              <LineCounts {...one} />
              <When ms={one.last_ms} />
            </li>
          ))}
          {file.count > file.sessions.length && <li className="muted">and {plural(file.count - file.sessions.length, "older session")}</li>}
        </ul>
      )}
    </li>
  );
}

function SessionLink({ session: { key, session, title, turn, file } }: { session: FileSession }) {
  const text = <PlainText text={title || session} />;
  const name = (
    <>
      {text} {turn !== null && <span className="muted">turn {turn}</span>}
    </>
  );
  return key === null ? <span>{name}</span> : <a href={withPanel(sessionHref({ session: key }, turn === null ? {} : { turn }), { tab: "files", chosen: file })}>{name}</a>;
}

function When({ ms }: { ms: number | null }) {
  if (!ms) return <span className="num muted" />;
  const time = new Date(ms).toISOString();
  return (
    <span className="num muted" title={fullTime(time)}>
      {ago(time)}
    </span>
  );
}
