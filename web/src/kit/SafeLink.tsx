/** A link to a safe address; if its text names another host, its own host is shown beside it. */

import type { ReactNode } from "react";
import { PlainText, visible } from "./PlainText";

interface Props {
  url: string | undefined;
  /** What the link says. */
  text: string;
  children: ReactNode;
}

export function SafeLink({ url, text, children }: Props) {
  if (!isSafe(url)) return <span title={url === undefined ? undefined : visible(url)}>{children}</span>;
  const host = differentHost(text, url);
  return (
    <>
      <a href={url} title={visible(url)} target="_blank" rel="noopener noreferrer">
        {children}
      </a>
      {host !== null && (
        <span className="link-host" title="The text of this link names another address">
          {" → "}
          <PlainText text={host} />
        </span>
      )}
    </>
  );
}

export const isSafe = (url: string | undefined): url is string => !!url && /^(https?:\/\/|mailto:)/i.test(url);

/** A host at the start of a text: after a scheme or `www.`, or with an ending that no file has. */
const HOST =
  /^\s*(?:https?:\/\/(?:[^\s/@]{1,200}@)?([^\s/:?#]{1,250})|((?:[\p{L}\p{N}_-]{1,63}\.){1,9}(?:com|org|net|edu|gov|info|biz|io|ai|dev|app|co|uk|de|fr|eu|us|xyz|cloud))(?=[\s/:?#]|$)|(www\.[^\s/:?#]{1,250}))/iu;

/** The host of an address, if the text reads like an address of another one, or if the address hides its host behind a name. */
export function differentHost(text: string, url: string): string | null {
  let address: URL;
  try {
    address = new URL(url);
  } catch {
    return null; // the browser does not follow it either
  }
  if (address.protocol === "mailto:") return null;
  const bare = (host: string) => host.toLowerCase().replace(/^www\./, "");
  const named = HOST.exec(text.slice(0, 500))?.slice(1).find(Boolean);
  if (address.username || (named !== undefined && bare(named) !== bare(address.hostname))) return address.host;
  return null;
}
