/** The palette (Ctrl-K): go to a session or a page, or carry out an action, by a few letters of its name; or choose the session to compare one with. */

import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { useLibraryStore, useSource } from "../contexts";
import { PlainText } from "../kit/PlainText";
import { useSelector, useVersion } from "../kit/store";
import { LibrarySearcher } from "../pages/librarySearch";
import { ORDERS } from "../data/source";
import type { LibraryRow } from "../data/values";
import { useRunning } from "../data/running";
import { availableActions } from "./actions";
import { comparedGroups, entryGroups, type Entry, type Hit } from "./entries";

const GO_TO = { title: "Go to", label: "Session, page or action", none: "No session, page or action has this name." };
const COMPARE = { title: "Compare with", label: "Session to compare with", none: "No other session has this name." };

/** `compared`: the session that another one is chosen for. */
export function Palette({ onClose, compared }: { onClose(): void; compared?: string }) {
  const words = compared === undefined ? GO_TO : COMPARE;
  const source = useSource();
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const sessions = useSessions();
  const [actions] = useState(availableActions);
  const now = useRunning();
  const hits = useHits(compared === undefined ? text : "");
  const groups = compared === undefined ? entryGroups(text, sessions, actions, source, now, hits) : comparedGroups(text, sessions, compared);
  const entries = groups.flatMap(({ entries }) => entries);
  const current = entries[Math.min(at, entries.length - 1)];
  const optionId = (entry: Entry) => `${id}-${entries.indexOf(entry)}`;

  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal(); // keeps the focus inside, and returns it
    return () => element?.close();
  }, []);
  useEffect(() => {
    if (current) document.getElementById(optionId(current))?.scrollIntoView({ block: "nearest" });
  });

  const carryOut = ({ target }: Entry) => {
    dialog.current?.close(); // first, so that an action can move the focus
    if (typeof target === "string") location.hash = target;
    else target();
  };
  const step = (by: number) => setAt((Math.min(at, entries.length - 1) + by + entries.length) % (entries.length || 1));
  const keyDown = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, Tab: event.shiftKey ? -1 : 1 };
    const by = steps[event.key];
    if (by !== undefined) {
      event.preventDefault();
      step(by);
    }
    if (event.key === "Enter" && !event.nativeEvent.isComposing && current) {
      event.preventDefault();
      carryOut(current);
    }
  };
  return (
    <dialog
      className="palette"
      ref={dialog}
      aria-label={words.title}
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && dialog.current.close()}
    >
      <input
        type="text"
        role="combobox"
        aria-label={words.label}
        placeholder={words.label}
        aria-expanded={entries.length > 0}
        aria-controls={id}
        aria-autocomplete="list"
        aria-activedescendant={current && optionId(current)}
        autoComplete="off"
        spellCheck={false}
        autoFocus
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={keyDown}
      />
      <div className="palette-list" id={id} role="listbox" aria-label="Matches" tabIndex={-1}>
        {groups.map((group) => (
          <div key={group.name} role="group" aria-label={group.name}>
            <p className="label" aria-hidden="true">
              {group.name}
            </p>
            {group.entries.map((entry) => (
              <div
                key={entry.key}
                id={optionId(entry)}
                role="option"
                aria-selected={entry === current}
                className="palette-entry"
                onMouseMove={() => setAt(entries.indexOf(entry))}
                onClick={() => carryOut(entry)}
              >
                <bdi className="palette-name">
                  <Marked text={entry.name} marks={entry.marks} />
                </bdi>
                <span className="muted palette-detail">{entry.detail}</span>
              </div>
            ))}
          </div>
        ))}
      </div>
      <p className="note" role="status">
        {!entries.length && words.none}
      </p>
      <p className="palette-keys muted" aria-hidden="true">
        <kbd>↑</kbd> <kbd>↓</kbd> choose <kbd>Enter</kbd> open <kbd>Esc</kbd> close
      </p>
    </dialog>
  );
}

/** A name with the letters marked that were typed. */
function Marked({ text, marks }: { text: string; marks: Entry["marks"] }) {
  const edges = [0, ...marks.flat(), text.length];
  return edges.slice(1).map((end, at) => {
    const piece = <PlainText key={at} text={text.slice(edges[at], end)} />;
    return at % 2 ? <mark key={at}>{piece}</mark> : piece;
  });
}

/** How many texts are listed, and how many letters are worth searching for. */
const HITS = 5;
const SHORTEST = 3;

/** The texts in which the words are, while one types; none of what was typed before. */
function useHits(text: string): Hit[] {
  const source = useSource();
  const searcher = useMemo(() => new LibrarySearcher(source), [source]);
  const query = source.can.library && text.trim().length >= SHORTEST ? text : "";
  useEffect(() => searcher.ask({ query, order: ORDERS[0], count: HITS }), [searcher, query]);
  useEffect(() => searcher.close, [searcher]);
  useVersion(searcher);
  if (!query || searcher.waiting) return [];
  return (searcher.found?.sessions ?? []).flatMap(({ title, hits }) => hits.map((text) => ({ text, title }))).slice(0, HITS);
}

const NONE: LibraryRow[] = [];

/** The sessions as they are known, at once, and then as they are. */
function useSessions(): LibraryRow[] {
  const { can } = useSource();
  const store = useLibraryStore();
  useEffect(() => {
    if (can.library) store.refresh();
  }, [can, store]);
  return useSelector(store, ({ library }) => library?.sessions ?? NONE);
}
