/** One component for each kind of node; none for a tool. */

import { createContext, use, type ComponentType } from "react";
import type { Cut, Node } from "../values";
import { Guard } from "../kit/Guard";
import { Checklist } from "./Checklist";
import { Choice } from "./Choice";
import { Code } from "./Code";
import { Data } from "./Data";
import { Diff } from "./Diff";
import { Facts } from "./Facts";
import { Files } from "./Files";
import { Links } from "./Links";
import { Note } from "./Note";
import { Picture } from "./Picture";
import { Prose } from "./Prose";
import { Section } from "./Section";
import { Table } from "./Table";
import { Terminal } from "./Terminal";

export interface NodeProps<N> {
  node: N;
  /** What the node is called where it is remembered to be open. */
  place: string;
}

type Kind = Node["node"];
type Drawn = { [K in Kind]: ComponentType<NodeProps<Extract<Node, { node: K }>>> };

const DRAWN: Drawn = {
  checklist: Checklist,
  choice: Choice,
  code: Code,
  data: Data,
  diff: Diff,
  facts: Facts,
  files: Files,
  links: Links,
  note: Note,
  picture: Picture,
  prose: Prose,
  section: Section,
  table: Table,
  terminal: Terminal,
};

/** What was not sent whole, and how to ask for it. */
export interface Cuts {
  cuts: Cut[];
  whole(): void;
}

export const CutsContext = createContext<Cuts>({ cuts: [], whole: () => undefined });

/** How the node at this place was cut, if it was. */
export function useCut(place: string): { cut: Cut | undefined; whole: () => void } {
  const { cuts, whole } = use(CutsContext);
  return { cut: cuts.find((cut) => place.endsWith(`/${cut.path.join(".")}`)), whole };
}

export function NodeList({ nodes, place }: { nodes: Node[]; place: string }) {
  const separator = place.includes("/") ? "." : "/";
  return nodes.map((node, index) => <NodeView key={index} node={node} place={`${place}${separator}${index}`} />);
}

function NodeView({ node, place }: NodeProps<Node>) {
  const Drawing = (DRAWN[node.node] ?? Unknown) as ComponentType<NodeProps<Node>>;
  return (
    <Guard fallback={<p className="note error">This could not be drawn; raw shows it.</p>}>
      <Drawing node={node} place={place} />
    </Guard>
  );
}

/** A kind that a newer server may know. */
function Unknown({ node, place }: NodeProps<Node>) {
  return <Data node={{ node: "data", value: node }} place={place} />;
}
