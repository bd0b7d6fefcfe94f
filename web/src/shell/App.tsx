/** The reader: shows the page that the address names. */

import { useMemo } from "react";
import { PictureUrlContext, SourceContext, useSource } from "../contexts";
import { settings } from "../kit/settings";
import { useSelector } from "../kit/store";
import { toggleTheme } from "../kit/theme";
import { LibraryPage } from "../pages/LibraryPage";
import { ReviewPage } from "../pages/ReviewPage";
import { StatsPage } from "../pages/StatsPage";
import { TeamPage } from "../pages/TeamPage";
import { UsagePage } from "../pages/UsagePage";
import { parseRoute, useHash, type Route } from "../route";
import { SessionPage } from "../session/SessionPage";
import type { Source } from "../data/source";
import { useActions } from "./actions";
import { ConnectionNotice } from "./ConnectionNotice";
import { KeyboardShortcuts } from "./KeyboardShortcuts";
import { overlay } from "./overlay";
import { Palette } from "./Palette";
import { SessionsPane } from "./SessionsPane";
import { useShortcuts } from "./shortcuts";
import { UnknownPage } from "./UnknownPage";

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
  return (
    <SourceContext value={source}>
      <PictureUrlContext value={source.pictureUrl}>
        <CurrentPage route={route} hash={hash} />
      </PictureUrlContext>
      {source.connection && <ConnectionNotice connection={source.connection} />}
      {shown === "shortcuts" && <KeyboardShortcuts onClose={() => overlay.show(null)} />}
      {shown === "palette" && <Palette onClose={closePalette} />}
    </SourceContext>
  );
}

/** Unless the action of the palette showed something else. */
const closePalette = () => overlay.shown === "palette" && overlay.show(null);

function CurrentPage({ route, hash }: { route: Route; hash: string }) {
  const { can } = useSource();
  const pane = useSelector(settings, ({ sessionsPane }) => sessionsPane) && can.library;
  if (route.page === "session") {
    const { session, agent, branch } = route.thread;
    return (
      <>
        <SessionPage key={JSON.stringify([session, agent, branch])} route={route} hash={hash} />
        {pane && <SessionsPane current={session} />}
      </>
    );
  }
  if (route.page === "library" || route.page === "captured") return <LibraryPage key={route.page} route={route} />;
  if (route.page === "review") return <ReviewPage key={`${route.session} ${route.commit}`} route={route} />;
  if (route.page === "usage") return <UsagePage route={route} />;
  if (route.page === "team") return <TeamPage route={route} />;
  return route.page === "stats" ? <StatsPage route={route} /> : <UnknownPage />;
}
