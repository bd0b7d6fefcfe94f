/** The title of the session and the prompt of the turn on the screen, in the line that sticks to the top. */

import { use, useEffect } from "react";
import { PanelContext, useThreadStore } from "../contexts";
import { PlainText } from "../kit/PlainText";
import { useSelector, useVersion } from "../kit/store";
import { sessionHref, withPanel } from "../route";
import { turnTitle } from "./turnTitle";

export function CurrentTurn() {
  const store = useThreadStore();
  useVersion(store);
  const turn = useSelector(store.position, (position) => position.turn);
  const panel = use(PanelContext);
  // The outline loads them too, but not while it is hidden.
  useEffect(() => store.requestTurns(turn - 1, turn - 1), [store, turn]);
  const prompt = turnTitle(store, turn);
  return (
    <p className="current-turn">
      <PlainText as="strong" dir="auto" text={store.overview.title} />
      {prompt && prompt !== store.overview.title && (
        <a href={withPanel(sessionHref(store.thread, { turn }), panel)} title="Go to the start of this turn">
          <span className="turn-number">{turn}</span>{" "}
          <PlainText as="bdi" text={prompt} />
        </a>
      )}
    </p>
  );
}
