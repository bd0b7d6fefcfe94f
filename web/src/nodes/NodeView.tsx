/** One component for each kind of node; none for a tool. */

import type { ComponentType } from "react";
import type { Node } from "../values";
import { Guard } from "../kit/Guard";
import { Checklist } from "./Checklist";
import { Choice } from "./Choice";
import { Code } from "./Code";
import { Data } from "./Data";
import { Diff } from "./Diff";
import type { NodeProps } from "./drawing";
import { Facts } from "./Facts";
import { Files } from "./Files";
import { Links } from "./Links";
import { Note } from "./Note";
import { Picture } from "./Picture";
import { Prose } from "./Prose";
import { Section } from "./Section";
import { Table } from "./Table";
import { Terminal } from "./Terminal";

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
