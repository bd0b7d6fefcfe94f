"""An MCP server that answers calls as they were recorded: `python -I -S mcp_server.py RECORD`.

The record is JSON: `tools`, their definitions, `calls`, each with `tool`, `input`, `content` and `isError`, and
`resources`, by address.
"""

import json
import sys


def main(path):
    """Answer requests on standard input, one a line."""
    with open(path) as file:
        record = json.load(file)
    left = list(record["calls"])
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        answer = {"jsonrpc": "2.0", "id": request["id"]}
        method, given = request.get("method"), request.get("params") or {}
        if method == "initialize":
            version = given.get("protocolVersion", "2025-06-18")
            told = {"name": record["name"], "version": "recorded"}
            offers = {"tools": {}, **({"resources": {}} if record["resources"] else {})}
            answer["result"] = {"protocolVersion": version, "capabilities": offers, "serverInfo": told}
        elif method == "tools/list":
            answer["result"] = {"tools": record["tools"]}
        elif method == "tools/call":
            answer["result"] = call(left, given)
        elif method == "resources/list":
            listed = (one.get("listed") for one in record["resources"].values())
            answer["result"] = {"resources": [one for one in listed if one]}
        elif method == "resources/read":
            known = record["resources"].get(given.get("uri"), {})
            answer["result"] = {"contents": known.get("contents", [])}
        elif method == "ping":
            answer["result"] = {}
        else:
            answer["error"] = {"code": -32601, "message": "not recorded"}
        print(json.dumps(answer), flush=True)


def call(left, given):
    """Return the result of a call: that of the same one, or of the next one of this tool."""
    same = [one for one in left if one["tool"] == given.get("name")]
    found = next((one for one in same if one["input"] == given.get("arguments")), None)
    if found is None:
        text = "reread: the record has no result of this call"
        return {"content": [{"type": "text", "text": text}], "isError": True}
    left.remove(found)
    return {"content": found["content"], "isError": found["isError"]}


if __name__ == "__main__":
    main(sys.argv[1])
