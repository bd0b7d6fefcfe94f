import { Markdown } from "../kit/Markdown";
import { Plain } from "../kit/visible";
import type { Choice as ChoiceNode } from "../values";
import type { NodeProps } from "./drawing";

export function Choice({ node }: NodeProps<ChoiceNode>) {
  const [chosen, open] = node.multiple ? ["☑", "☐"] : ["◉", "○"];
  return (
    <div className="choice">
      <div className="question">
        {node.header && <span className="label">{node.header}</span>}
        <Markdown text={node.question} />
      </div>
      <ul>
        {node.options.map((option, index) => (
          <li key={index} className={option.chosen ? "chosen" : undefined}>
            <span role="img" aria-label={option.chosen ? "chosen" : "not chosen"}>
              {option.chosen ? chosen : open}
            </span>
            <span>
              <Plain text={option.label} />
              {option.description && (
                <span className="faint">
                  {" "}
                  <Plain text={option.description} />
                </span>
              )}
              {option.preview && (
                <pre className="preview">
                  <Plain text={option.preview} />
                </pre>
              )}
            </span>
          </li>
        ))}
      </ul>
      {node.answer && (
        <p className="answer">
          <span className="label">answered</span> <Plain text={node.answer} />
        </p>
      )}
    </div>
  );
}
