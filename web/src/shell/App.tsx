/** The reader: shows the page that the address names. */

import { useMemo, useState } from "react";
import { PictureUrlContext, SourceContext } from "../contexts";
import { useKeys } from "../kit/useKeys";
import { LibraryPage } from "../pages/LibraryPage";
import { UsagePage } from "../pages/UsagePage";
import { parseRoute, useHash, type Route } from "../route";
import { SessionPage } from "../session/SessionPage";
import type { Source } from "../source";
import { ConnectionNotice } from "./ConnectionNotice";
import { KeyboardShortcuts } from "./KeyboardShortcuts";
import { UnknownPage } from "./UnknownPage";

export function App({ source }: { source: Source }) {
  const hash = useHash();
  const route = useMemo(() => {
    const parsed = parseRoute(hash);
    return parsed.page === "session" || source.can.library ? parsed : parseRoute(source.onlySession ?? "");
  }, [hash, source]);
  const [help, setHelp] = useState(false);
  useKeys({ "?": () => setHelp(!help) });
  return (
    <SourceContext value={source}>
      <PictureUrlContext value={source.pictureUrl}>
        <CurrentPage route={route} hash={hash} />
      </PictureUrlContext>
      {source.connection && <ConnectionNotice connection={source.connection} />}
      {help && <KeyboardShortcuts onClose={() => setHelp(false)} />}
    </SourceContext>
  );
}

function CurrentPage({ route, hash }: { route: Route; hash: string }) {
  if (route.page === "session") {
    const { session, agent, branch } = route.thread;
    return <SessionPage key={JSON.stringify([session, agent, branch])} route={route} hash={hash} />;
  }
  if (route.page === "library" || route.page === "captured") return <LibraryPage key={route.page} route={route} />;
  return route.page === "usage" ? <UsagePage /> : <UnknownPage />;
}
