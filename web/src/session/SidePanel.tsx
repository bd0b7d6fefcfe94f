/** The panel beside the messages: files, context and requests, facts about the session, and sharing, each a tab. */

import { useEffect, useLayoutEffect, useRef, type RefObject } from "react";
import { useThreadStore } from "../contexts";
import type { Source, ThreadRef } from "../data/source";
import type { UsageSummary } from "../data/values";
import { keepScroll } from "../kit/keepScroll";
import { useKept } from "../kit/kept";
import { PANEL_TABS, type Panel, type PanelTab } from "../route";
import { About } from "./About";
import { ContextTab } from "./ContextTab";
import { FilesTab } from "./FilesTab";
import { PanelLink, usePanel } from "./PanelLink";
import { ShareTab } from "./ShareTab";

const TAB_NAMES: Record<PanelTab, string> = { files: "Files", context: "Context", about: "About", share: "Share" };

/** The tabs that there is something for. */
export function panelTabs(source: Source, thread: ThreadRef): PanelTab[] {
  const known: Record<PanelTab, boolean> = {
    files: source.can.files,
    context: source.context !== undefined && thread.branch === undefined && (source.requests !== undefined || thread.agent === undefined),
    about: true,
    share: source.exportUrl(thread) !== null && thread.agent === undefined,
  };
  return PANEL_TABS.filter((tab) => known[tab]);
}

export function SidePanel({ panel, usage }: { panel: Panel; usage: UsageSummary | null }) {
  const { source, thread } = useThreadStore();
  const show = usePanel();
  const [wide, setWide] = useKept("wide panel", false);
  const element = useRef<HTMLElement>(null);
  useKeptScroll(element, panel);
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
      <div className="panel-body">
        <Tab key={panel.tab} panel={panel} usage={usage} />
      </div>
    </aside>
  );
}

function Tab({ panel: { tab, chosen }, usage }: { panel: Panel; usage: UsageSummary | null }) {
  const { source, thread } = useThreadStore();
  if (!panelTabs(source, thread).includes(tab)) return <p className="note">Not available here.</p>;
  if (tab === "files") return <FilesTab chosen={chosen} />;
  if (tab === "context") return <ContextTab chosen={chosen} fills={usage?.context ?? []} />;
  return tab === "about" ? <About usage={usage} /> : <ShareTab session={thread.session} chosen={chosen} />;
}

type Saved = { panel?: { place: string; top: number } } | null;

/** Keep the scroll position of what is shown in the panel, and return to it; another tab begins at its top. */
function useKeptScroll(panel: RefObject<HTMLElement | null>, { tab, chosen }: Panel): void {
  const place = `${tab} ${chosen}`;
  const view = tab === "context" ? place : tab;
  useLayoutEffect(() => void panel.current?.scrollTo(0, 0), [view]);
  useLayoutEffect(() => {
    const element = panel.current;
    if (!element?.lastElementChild) return;
    const saved = () => {
      const kept = (history.state as Saved)?.panel;
      return kept?.place === place ? kept.top : null;
    };
    const save = (top: number) => {
      if (top !== (saved() ?? 0)) history.replaceState({ ...(history.state as object | null), panel: { place, top } }, "");
    };
    return keepScroll({ element, content: element.lastElementChild, saved, save });
  }, [place]);
}
