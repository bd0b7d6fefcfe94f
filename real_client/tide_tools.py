"""Two small MCP servers on standard input and output, whose tools say nothing but what is written here.

`tide_tools.py tides` has the tide tables of a harbour, which are made up, and `tide_tools.py berths` its berths.
"""

from __future__ import annotations

import json
import math
import sys
from typing import Any

Object = dict[str, Any]


def table(month: int) -> str:
    """Return the table of a month: the height of the water at every hour, in a made-up harbour."""
    rows = [
        f"Heights at Quayside, month {month} of 2026, in metres, by hour",
        "day" + "".join(f"{h:6}" for h in range(24)),
    ]
    for day in range(1, 32):
        spring = 1 + 0.3 * math.cos((month * 31 + day) * math.tau / 14.77)
        heights = [
            3.8 + 2.6 * spring * math.cos((24 * (month * 31 + day) + hour) * math.tau / 12.42) for hour in range(24)
        ]
        rows.append(f"{day:3}" + "".join(f"{height:6.2f}" for height in heights))
    return "\n".join(rows)


def schema(**properties: Object) -> Object:
    return {"type": "object", "properties": properties, "required": list(properties)}


TOOLS: dict[str, list[Object]] = {
    "tides": [
        {
            "name": "read_table",
            "description": "The tide table of a month: the height of the water at every hour, in metres.",
            "inputSchema": schema(month={"type": "integer", "description": "The month, from 1"}),
        }
    ],
    "berths": [
        {
            "name": "depth",
            "description": "The depth of a berth below chart datum, in metres.",
            "inputSchema": schema(berth={"type": "string", "description": "Its letter"}),
        },
        {
            "name": "book",
            "description": "Books a berth for a ship.",
            "inputSchema": schema(berth={"type": "string"}, ship={"type": "string"}),
        },
    ],
}


def answer(server: str, method: str, params: Object) -> Object | None:
    """Return the result of a request; None for a method that the server does not have."""
    if method == "initialize":
        version = params.get("protocolVersion", "2025-06-18")
        about = {"name": server, "version": "1"}
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        return {"tools": TOOLS[server]}
    if method == "tools/call":
        given = params.get("arguments", {})
        text = table(int(given["month"])) if params["name"] == "read_table" else "4.1 m"
        return {"content": [{"type": "text", "text": text}]}
    return {} if method == "ping" else None


def main() -> None:
    """Answer requests until standard input ends."""
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked:
            result = answer(sys.argv[1], asked.get("method", ""), asked.get("params") or {})
            said = {"result": result} if result is not None else {"error": {"code": -32601, "message": "not here"}}
            print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **said}), flush=True)


if __name__ == "__main__":
    main()
