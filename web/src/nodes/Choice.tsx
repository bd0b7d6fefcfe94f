import { Markdown } from "../markdown/Markdown";
import { PlainText } from "../kit/PlainText";
import type { Choice as ChoiceNode } from "../data/values";
import type { NodeProps } from "./nodeProps";

export function Choice({ node }: NodeProps<ChoiceNode>) {
  const [chosenMark, otherMark] = node.multiple ? ["☑", "☐"] : ["◉", "○"];
  return (
    <div className="choice">
      <div className="question">
        {node.header && <PlainText className="label" text={node.header} />}
        <Markdown text={node.question} />
      </div>
      <ul>
        {node.options.map((option, index) => (
          <li key={index} className={option.chosen ? "chosen" : undefined}>
            <span role="img" aria-label={option.chosen ? "chosen" : "not chosen"}>
              {option.chosen ? chosenMark : otherMark}
            </span>
            <span>
              <PlainText text={option.label} />
              {option.description && (
                <span className="muted">
                  {" "}
                  <PlainText text={option.description} />
                </span>
              )}
              {option.preview && (
                <pre className="preview">
                  <PlainText text={option.preview} />
                </pre>
              )}
            </span>
          </li>
        ))}
      </ul>
      {node.answer && (
        <p className="answer">
          <span className="label">answer</span> <PlainText text={node.answer} />
        </p>
      )}
    </div>
  );
}
