/** What stays closed until asked for: attached files, asides of the client. Their names stand in one row. */

import { useReading } from "../contexts";
import { Opener } from "../kit/Opener";
import { useVersion } from "../kit/store";
import { Plain } from "../kit/visible";
import type { NodesPart, Passage } from "../values";
import { NodesBlock } from "./NodesBlock";

export const asideKey = (passage: Passage, at: number): string => `nodes:${passage.key}:${at}`;

interface Props {
  passage: Passage;
  asides: { part: NodesPart; at: number }[];
}

export function Asides({ passage, asides }: Props) {
  const { opened } = useReading();
  useVersion(opened);
  return (
    <div className="asides">
      <p className="aside-names">
        {asides.map(({ part, at }) => {
          const key = asideKey(passage, at);
          return (
            <Opener key={at} small open={opened.isOpen(key)} onToggle={() => opened.toggle(key)}>
              <span className="faint">
                <Plain text={part.title} />
              </span>
            </Opener>
          );
        })}
      </p>
      {asides.map(
        ({ part, at }) =>
          opened.isOpen(asideKey(passage, at)) && (
            <div className="within" key={at}>
              <NodesBlock part={part} passage={passage} at={at} />
            </div>
          ),
      )}
    </div>
  );
}
