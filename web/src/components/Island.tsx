/** The island that components are drawn in: a shadow tree with its own styles, which no rule of the page around it reaches.
 *
 * Only the outermost component has one. What pages set on `p`, `code` or `*`, with `!important` too, would otherwise apply to the
 * components, and inherited properties such as alignment and letter spacing as well. A server has no shadow trees: it writes the plain
 * text, which the island replaces once the page runs.
 */

import { createContext, use, useCallback, useState, useSyncExternalStore, type ReactNode } from "react";
import { createPortal } from "react-dom";
import styles from "../styles/components.css?inline";

export interface IslandProps {
  theme?: "light" | "dark" | undefined;
  className?: string | undefined;
  /** What a server writes. */
  plain(): ReactNode;
}

type Props = IslandProps & { children: ReactNode };

export function Island({ children, ...outermost }: Props) {
  return use(InIsland) ? children : <Outermost {...outermost}>{children}</Outermost>;
}

const InIsland = createContext(false);
const subscribe = () => () => undefined;

function Outermost({ theme, className, plain, children }: Props) {
  const [shadow, setShadow] = useState<ShadowRoot | null>(null);
  const fromServer = useSyncExternalStore(subscribe, () => false, () => true);
  const attach = useCallback((host: HTMLElement | null) => {
    if (host) setShadow(shadowOf(host));
  }, []);
  return (
    <div className={className} ref={attach}>
      {fromServer && <div style={{ whiteSpace: "pre-wrap" }}>{plain()}</div>}
      {shadow &&
        createPortal(
          <div className="reread" data-theme={theme}>
            <InIsland value={true}>{children}</InIsland>
          </div>,
          shadow,
        )}
    </div>
  );
}

function shadowOf(host: HTMLElement): ShadowRoot {
  const shadow = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  shadow.adoptedStyleSheets = [sheetOf(host.ownerDocument)];
  return shadow;
}

/** A style sheet belongs to one document, and a component may be drawn into the document of another window. */
const sheets = new WeakMap<Document, CSSStyleSheet>();

function sheetOf(document: Document): CSSStyleSheet {
  let sheet = sheets.get(document);
  if (!sheet) {
    sheet = new (document.defaultView ?? window).CSSStyleSheet();
    sheet.replaceSync(styles);
    sheets.set(document, sheet);
  }
  return sheet;
}
