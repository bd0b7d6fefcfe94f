/** The reader: shows the page that the address names. */

import { lazy, Suspense, useEffect, useLayoutEffect, useMemo } from "react";
import { LibraryContext, PictureUrlContext, SourceContext, useSource } from "../contexts";
import { settings } from "../kit/settings";
import { useSelector } from "../kit/store";
import { setPageTitle, setWaiting } from "../kit/tabTitle";
import { toggleTheme } from "../kit/theme";
import { LibraryStore } from "../data/libraryStore";
import { ComparePage } from "../pages/ComparePage";
import { FilesPage } from "../pages/FilesPage";
import { InsightsPage } from "../pages/InsightsPage";
import { LibraryPage } from "../pages/LibraryPage";
import { useRunning } from "../data/running";
import { useNotifications } from "../pages/NowPanel";
import { ReviewPage } from "../pages/ReviewPage";
import { SettingsPage } from "../pages/SettingsPage";
import { TeamPage } from "../pages/TeamPage";
import { parseRoute, useHash, type Route } from "../route";
import type { Source } from "../data/source";
import { useActions } from "./actions";
import { ConnectionNotice } from "./ConnectionNotice";
import { KeyboardShortcuts } from "./KeyboardShortcuts";
import { overlay, type OverlayName } from "./overlay";
import { Palette } from "./Palette";
import { SessionsPane } from "./SessionsPane";
import { useShortcuts } from "./shortcuts";
import { UnknownPage } from "./UnknownPage";

/** Sessions need half of the script, the list none of it: it is loaded for the first of them. */
const SessionPage = lazy(async () => ({ default: (await import("../session/SessionPage")).SessionPage }));

export function App({ source }: { source: Source }) {
  const hash = useHash();
  const route = useMemo(() => {
    const parsed = parseRoute(hash);
    return parsed.page === "session" || source.can.library ? parsed : parseRoute(source.onlySession ?? "");
  }, [hash, source]);
  const shown = useSelector(overlay, ({ shown }) => shown);
  useShortcuts({ shortcuts: () => overlay.toggle("shortcuts"), palette: () => overlay.toggle("palette") });
  useActions([
    { name: "Switch between light and dark", also: "theme mode colours appearance night", run: toggleTheme },
    { name: "Switch between diffs side by side and inline", also: "split unified changes view", run: () => settings.toggleSideBySide() },
    ...(source.can.library ? [{ name: "Show or hide the list of sessions beside a session", also: "sidebar pane panel", run: () => settings.toggleSessionsPane() }] : []),
  ]);
  const library = useMemo(() => new LibraryStore(source), [source]);
  const isList = route.page !== "session" && source.can.library; // the stream of a session says what runs, too
  useEffect(() => (isList ? library.watch() : undefined), [library, isList]);
  return (
    <SourceContext value={source}>
      <LibraryContext value={library}>
        <Waiting />
        <PictureUrlContext value={source.pictureUrl}>
          <CurrentPage route={route} hash={hash} />
        </PictureUrlContext>
      {source.connection && <ConnectionNotice connection={source.connection} />}
      {shown === "shortcuts" && <KeyboardShortcuts onClose={() => overlay.show(null)} />}
      {shown === "palette" && <Palette key={shown} onClose={() => close(shown)} />}
      {shown === "compare" && route.page === "session" && <Palette key={shown} onClose={() => close(shown)} compared={route.thread.session} />}
      </LibraryContext>
    </SourceContext>
  );
}

/** Counts the sessions that wait in the title of the tab, and tells of them. */
function Waiting() {
  const now = useRunning();
  const waiting = now?.waiting ?? 0;
  useEffect(() => setWaiting(waiting), [waiting]);
  useNotifications(now?.sessions);
  return null;
}

/** Unless the action of the palette showed something else. */
const close = (name: OverlayName) => overlay.shown === name && overlay.show(null);

const REPORTS = { insights: InsightsPage, files: FilesPage, team: TeamPage, settings: SettingsPage };
const TITLES: Partial<Record<Route["page"], string>> = { compare: "Compare · reread", files: "Files · reread", insights: "Insights · reread", team: "Team · reread", settings: "Settings · reread" };

function CurrentPage({ route, hash }: { route: Route; hash: string }) {
  const { can } = useSource();
  const pane = useSelector(settings, ({ sessionsPane }) => sessionsPane) && can.library;
  useLayoutEffect(() => {
    if (route.page !== "session") setPageTitle(TITLES[route.page] ?? "reread");
  }, [route.page]);
  if (route.page === "session") {
    const { session, agent, branch } = route.thread;
    return (
      <>
        <Suspense fallback={null}>
          <SessionPage key={JSON.stringify([session, agent, branch])} route={route} hash={hash} />
        </Suspense>
        {pane && <SessionsPane current={session} />}
      </>
    );
  }
  if (route.page === "library") return <LibraryPage route={route} />;
  if (route.page === "review") return <ReviewPage key={`${route.session} ${route.commit}`} route={route} />;
  if (route.page === "compare") return <ComparePage key={`${route.one} ${route.other}`} route={route} />;
  if (route.page === "unknown") return <UnknownPage />;
  const Page = REPORTS[route.page];
  return <Page route={route} />;
}
