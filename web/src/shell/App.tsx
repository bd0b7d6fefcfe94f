/** The reader: one address, one page. */

import { useMemo, useState } from "react";
import { SourceContext } from "../contexts";
import { UsagePage } from "../pages/UsagePage";
import { LibraryPage } from "../pages/LibraryPage";
import { SessionPage } from "../session/SessionPage";
import { parseRoute, useHash, type Route } from "../route";
import type { Source } from "../source";
import { useKeys } from "../session/useKeys";
import { Keys } from "./Keys";

export function App({ source }: { source: Source }) {
  const hash = useHash();
  const route = useMemo(() => {
    const asked = parseRoute(hash);
    return asked.page === "session" || source.can.library ? asked : parseRoute(source.only ?? "");
  }, [hash, source]);
  const [help, setHelp] = useState(false);
  useKeys({ "?": () => setHelp(!help), ...(help ? { Escape: () => setHelp(false) } : {}) });
  return (
    <SourceContext value={source}>
      <PageOf route={route} hash={hash} />
      {help && <Keys onClose={() => setHelp(false)} />}
    </SourceContext>
  );
}

function PageOf({ route, hash }: { route: Route; hash: string }) {
  if (route.page === "session") {
    const { session, agent, branch } = route.thread;
    return <SessionPage key={JSON.stringify([session, agent, branch])} route={route} hash={hash} />;
  }
  if (route.page === "usage") return <UsagePage />;
  return <LibraryPage key={route.page} captured={route.page === "captured"} />;
}
