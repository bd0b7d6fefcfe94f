/** The bar at the top: logo, search and the links between pages. */

import { useState, type ReactNode } from "react";
import { useSource } from "../contexts";
import { SearchField } from "../kit/SearchField";
import { settings } from "../kit/settings";
import { useSelector } from "../kit/store";
import { toggleTheme } from "../kit/theme";
import { listHref, type Route } from "../route";
import { overlay } from "./overlay";
import { useShortcuts } from "./shortcuts";

/** The search over all sessions on a page without one of its own: Enter leads to what it finds. */
function SearchEverywhere() {
  const [text, setText] = useState("");
  useShortcuts({ searchAll: () => document.querySelector<HTMLInputElement>(".bar input[type=search]")?.focus() });
  return <SearchField label="Search all sessions" value={text} onChange={setText} onEnter={() => text.trim() && location.assign(listHref({ filter: text }))} />;
}

export function Bar({ page, children }: { page: Route["page"]; children?: ReactNode }) {
  const { can, home, team } = useSource();
  const [menu, setMenu] = useState(false);
  const pane = useSelector(settings, ({ sessionsPane }) => sessionsPane);
  const link = (to: Route["page"], href: string, name: string) => (
    <a href={href} aria-current={page === to ? "page" : undefined}>
      {name}
    </a>
  );
  return (
    <header className="bar">
      <a className="brand" href={home}>
        reread
      </a>
      {page === "session" && can.library && (
        <button type="button" className="link-button pane-button" aria-pressed={pane} title="The list of sessions beside this one" onClick={() => settings.toggleSessionsPane()}>
          List
        </button>
      )}
      <div className="bar-middle">{children ?? (page !== "session" && can.library && <SearchEverywhere />)}</div>
      <button type="button" className="menu-button" aria-expanded={menu} aria-controls="pages" onClick={() => setMenu(!menu)}>
        Menu
      </button>
      <nav id="pages" aria-label="Pages" className={menu ? "open" : undefined} onClick={() => setMenu(false)}>
        {can.library && link("library", "#/", "Sessions")}
        {can.usage && link("files", "#/files", "Files")}
        {can.usage && link("insights", "#/insights", "Insights")}
        {team && link("team", "#/team", "Team")}
        <button
          type="button"
          className="palette-button"
          title="Go to a session, a page or an action"
          aria-haspopup="dialog"
          onClick={() => overlay.show("palette")}
        >
          Go to <kbd>{/Mac|iP/.test(navigator.platform) ? "⌘K" : "Ctrl K"}</kbd>
        </button>
        {can.library ? (
          <a className="gear" href="#/settings" aria-label="Settings" title="Settings" aria-current={page === "settings" ? "page" : undefined}>
            ⚙
          </a>
        ) : (
          <button type="button" className="link-button" aria-label="Switch between light and dark" title="Switch between light and dark" onClick={toggleTheme}>
            ☾
          </button>
        )}
      </nav>
    </header>
  );
}
