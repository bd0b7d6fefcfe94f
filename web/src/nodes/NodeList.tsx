/** A list of nodes. There is one component for each kind of node, and none for a tool. */

import type { ComponentType } from "react";
import { ErrorBoundary } from "../kit/ErrorBoundary";
import type { Node } from "../data/values";
import { Checklist } from "./Checklist";
import { Choice } from "./Choice";
import { Code } from "./Code";
import { Data } from "./Data";
import { Diff } from "./Diff";
import { Facts } from "./Facts";
import { Files } from "./Files";
import { Links } from "./Links";
import type { NodeProps } from "./nodeProps";
import { Note } from "./Note";
import { Picture } from "./Picture";
import { Prose } from "./Prose";
import { Section } from "./Section";
import { Table } from "./Table";
import { Terminal } from "./Terminal";

type Kind = Node["node"];
type Components = { [K in Kind]: ComponentType<NodeProps<Extract<Node, { node: K }>>> };

const COMPONENTS: Components = {
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
  section: ({ node, place }) => (
    <Section node={node} place={place}>
      {() => <NodeList nodes={node.nodes} place={place} />}
    </Section>
  ),
  table: Table,
  terminal: Terminal,
};

export function NodeList({ nodes, place }: { nodes: Node[]; place: string }) {
  const separator = place.includes("/") ? "." : "/";
  return nodes.map((node, index) => <NodeView key={index} node={node} place={`${place}${separator}${index}`} />);
}

function NodeView({ node, place }: NodeProps<Node>) {
  const Component = (COMPONENTS[node.node] ?? UnknownNode) as ComponentType<NodeProps<Node>>;
  return (
    <ErrorBoundary fallback={<p className="note error">Could not display this. Use “Raw” to see the recorded lines.</p>}>
      <Component node={node} place={place} />
    </ErrorBoundary>
  );
}

/** A kind that only a newer server knows. */
function UnknownNode({ node, place }: NodeProps<Node>) {
  return <Data node={{ node: "data", value: node }} place={place} />;
}
