/** The page that will be shared, in the place of the messages. It runs in an origin of its own. */

import { sharePreviewUrl } from "../data/sharing";
import { Store, useVersion } from "../kit/store";

/** What is chosen in the panel while the preview is shown. */
export const PREVIEW = "preview";

/** Whether the page can be made, and how often what is in it changed. */
class PreviewState extends Store {
  ready = false;
  changes = 0;

  set(ready: boolean): void {
    this.ready = ready;
    this.changes += 1;
    this.changed();
  }
}

export const sharePreview = new PreviewState();

export function SharePreview({ session }: { session: string }) {
  useVersion(sharePreview);
  if (!sharePreview.ready) return <p className="note share-waiting">The preview appears here as soon as all findings are decided on.</p>;
  return <iframe key={sharePreview.changes} className="share-preview" title="Preview" sandbox="allow-scripts allow-downloads" src={sharePreviewUrl(session)} />;
}
