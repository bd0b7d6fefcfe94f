/** Links between the panel beside a session and its messages. */

import { use, type MouseEvent, type ReactNode } from "react";
import { PanelContext, useThreadStore } from "../contexts";
import { visible } from "../kit/PlainText";
import { sessionHref, stayAt, withPanel, type Panel } from "../route";
import type { Target, ThreadRef } from "../data/source";

/** The width below which the panel covers the messages; the style sheet has it too. */
export const COVERING = "(max-width: 1180px)";

/** The address of the page, with another panel. */
export function usePanelHref(): (panel: Panel | null) => string {
  const { thread } = useThreadStore();
  return (panel) => withPanel(location.hash.startsWith("#/s/") ? location.hash : sessionHref(thread), panel);
}

/** Opens the panel, or chooses something in it; the messages stay where they are. */
export function usePanel(): (panel: Panel | null, options?: { inPlace?: boolean }) => void {
  const href = usePanelHref();
  return (panel, options) => stayAt(href(panel), options);
}

interface PanelLinkProps {
  panel: Panel;
  className?: string;
  title?: string;
  current?: boolean;
  children: ReactNode;
}

/** A link to a tab of the panel; the link to the tab that is shown closes it. */
export function PanelLink({ panel, className, title, current = false, children }: PanelLinkProps) {
  const href = usePanelHref();
  const open = usePanel();
  return (
    <a className={className} title={title && visible(title)} href={href(panel)} aria-current={current ? "true" : undefined} onClick={plainly(() => open(current ? null : panel))}>
      {children}
    </a>
  );
}

interface PlaceLinkProps {
  thread: ThreadRef;
  target: Target;
  className?: string;
  title?: string;
  children: ReactNode;
}

/** A link from the panel to a message, beside which the panel stays open if there is room. */
export function PlaceLink({ thread, target, className, title, children }: PlaceLinkProps) {
  const panel = use(PanelContext);
  const href = sessionHref(thread, target);
  const go = () => {
    location.hash = matchMedia(COVERING).matches ? href : withPanel(href, panel);
  };
  return (
    <a className={className} title={title && visible(title)} href={withPanel(href, panel)} onClick={plainly(go)}>
      {children}
    </a>
  );
}

/** Act on a click that does not ask for another tab or window. */
const plainly = (act: () => void) => (event: MouseEvent) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  act();
};
