/** The bar that stays on top: where one is, what one looks for, where else to go. */

import type { ReactNode } from "react";
import { useSource } from "../contexts";
import { toggleTheme } from "../kit/theme";
import type { Route } from "../route";

export function Bar({ page, children }: { page: Route["page"]; children?: ReactNode }) {
  const { can, home } = useSource();
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
      <div className="bar-middle">{children}</div>
      <nav aria-label="pages">
        {can.library && link("library", "#/", "sessions")}
        {can.usage && link("usage", "#/usage", "usage")}
        {can.library && link("captured", "#/captured", "captured")}
        <button type="button" className="quiet" aria-label="light or dark" title="light or dark" onClick={toggleTheme}>
          ☾
        </button>
      </nav>
    </header>
  );
}
