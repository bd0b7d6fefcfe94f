/** The panel beside the messages: files, context, requests, facts about the session, and sharing, each a tab. */

import { useEffect, useRef, useState } from "react";
import { useThreadStore } from "../contexts";
import type { Source, ThreadRef } from "../data/source";
import type { UsageSummary } from "../data/values";
import { PANEL_TABS, type Panel, type PanelTab } from "../route";
import { About } from "./About";
import { ContextTab } from "./ContextTab";
import { FilesTab } from "./FilesTab";
import { PanelLink, usePanel } from "./PanelLink";
import { RequestsTab } from "./RequestsTab";
import { ShareTab } from "./ShareTab";

export const TAB_NAMES: Record<PanelTab, string> = { files: "Files", context: "Context", requests: "Requests", about: "About", share: "Share" };

/** The tabs that there is something for. */
export function panelTabs(source: Source, thread: ThreadRef): PanelTab[] {
  const known: Record<PanelTab, boolean> = {
    files: source.can.files,
    context: source.context !== undefined && thread.branch === undefined && (source.requests !== undefined || thread.agent === undefined),
    requests: source.requests !== undefined && thread.branch === undefined,
    about: true,
    share: source.exportUrl(thread) !== null && thread.agent === undefined,
  };
  return PANEL_TABS.filter((tab) => known[tab]);
}

export function SidePanel({ panel, usage }: { panel: Panel; usage: UsageSummary | null }) {
  const { source, thread } = useThreadStore();
  const show = usePanel();
  const [wide, setWide] = useState(false);
  const element = useRef<HTMLElement>(null);
  useEffect(() => element.current?.focus({ preventScroll: true }), []);
  return (
    <aside ref={element} className={wide ? "side-panel wide" : "side-panel"} aria-label="Details" tabIndex={-1}>
      <header className="panel-head">
        <nav aria-label="Details">
          {panelTabs(source, thread).map((tab) => (
            <PanelLink key={tab} className="panel-tab" panel={{ tab, chosen: "" }} current={tab === panel.tab}>
              {TAB_NAMES[tab]}
            </PanelLink>
          ))}
        </nav>
        <button type="button" className="link-button widen" aria-pressed={wide} onClick={() => setWide(!wide)}>
          {wide ? "Narrow" : "Wide"}
        </button>
        <button type="button" className="link-button panel-close" aria-label="Close" title="Close (Esc)" onClick={() => show(null)}>
          ✕
        </button>
      </header>
      <Tab key={panel.tab} panel={panel} usage={usage} />
    </aside>
  );
}

function Tab({ panel: { tab, chosen }, usage }: { panel: Panel; usage: UsageSummary | null }) {
  const { source, thread } = useThreadStore();
  if (!panelTabs(source, thread).includes(tab)) return <p className="note">Not available here.</p>;
  if (tab === "files") return <FilesTab chosen={chosen} />;
  if (tab === "context") return <ContextTab chosen={chosen} fills={usage?.context ?? []} />;
  if (tab === "requests") return <RequestsTab chosen={chosen} />;
  return tab === "about" ? <About usage={usage} /> : <ShareTab session={thread.session} chosen={chosen} />;
}
