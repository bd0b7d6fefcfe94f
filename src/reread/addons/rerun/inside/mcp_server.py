"""An MCP server that answers calls as they were recorded: `python -I -S mcp_server.py RECORD`.

The record is JSON: `name`, `tools`, their definitions, `calls`, each with `tool`, `input`, `content` and `isError`, and
`resources`, by address.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

Object = dict[str, Any]
NOT_RECORDED = "reread: the record has no result of this call"


def main(path: Path) -> None:
    """Answer requests on standard input, one a line."""
    record: Object = json.loads(path.read_bytes())
    for line in sys.stdin:
        request: Object = json.loads(line)
        if "id" in request:
            given: Object = request.get("params") or {}
            said = reply_to_call(record, str(request.get("method")), given)
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **said}), flush=True)


def reply_to_call(record: Object, method: str, given: Object) -> Object:
    """Return the answer to a request."""
    match method:
        case "initialize":
            offers: Object = {"tools": {}, **({"resources": {}} if record["resources"] else {})}
            version = given.get("protocolVersion", "2025-06-18")
            server = {"name": record["name"], "version": "recorded"}
            return {"result": {"protocolVersion": version, "capabilities": offers, "serverInfo": server}}
        case "tools/list":
            return {"result": {"tools": record["tools"]}}
        case "tools/call":
            return {"result": recorded_result(record["calls"], given)}
        case "resources/list":
            listed = [one.get("listed") for one in record["resources"].values()]
            return {"result": {"resources": [one for one in listed if one]}}
        case "resources/read":
            known: Object = record["resources"].get(given.get("uri")) or {}
            return {"result": {"contents": known.get("contents", [])}}
        case "ping":
            return {"result": {}}
        case _:
            return {"error": {"code": -32601, "message": "not recorded"}}


def recorded_result(left: list[Object], given: Object) -> Object:
    """Return the result of a call: each is told once, in the order of the record."""
    for one in left:
        if one["tool"] == given.get("name") and one["input"] == given.get("arguments"):
            left.remove(one)
            return {"content": one["content"], "isError": one["isError"]}
    return {"content": [{"type": "text", "text": NOT_RECORDED}], "isError": True}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
