"""How calls of the tool `deploy` are drawn."""

from collections.abc import Iterator

from reread.plugins import Node, Note, Terminal, Tool, ToolCall, facts


def title(call: ToolCall) -> str:
    return f"Deploy {call.arguments.get('service', '')}"


def draw(call: ToolCall) -> Iterator[Node]:
    yield from facts(stage=call.arguments.get("stage"))
    if call.outcome.state == "failed":
        yield Note(text=call.outcome.message, level="error")
    else:
        yield Terminal(text=call.text)


TOOLS = [Tool(("deploy",), title, draw, category="run")]
