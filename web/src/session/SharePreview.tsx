/** The page that will be shared, in the place of the messages. It runs in an origin of its own. */

import { sharePreviewUrl } from "../data/sharing";
import { useKeptScroll } from "../kit/keepScroll";
import { Store, useVersion } from "../kit/store";

/** What is chosen in the panel while the messages are shown, and not the preview. */
export const MESSAGES = "messages";

/** How often what is in the page changed. */
class PreviewState extends Store {
  changes = 0;

  renew(): void {
    this.changes += 1;
    this.changed();
  }
}

export const sharePreview = new PreviewState();

export function SharePreview({ session }: { session: string }) {
  useVersion(sharePreview);
  useKeptScroll();
  if (sharePreview.changes === 0) return <p className="note share-waiting">The preview appears here as soon as the session is searched for secrets.</p>;
  return <iframe key={sharePreview.changes} className="share-preview" title="Preview" sandbox="allow-scripts allow-downloads" src={sharePreviewUrl(session)} />;
}
