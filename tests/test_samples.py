"""The bundled sample sessions are well formed and cover what the views can show."""

import base64
import json
import re
from collections import Counter, defaultdict
from pathlib import Path

import reread

SAMPLES = Path(__file__).parents[1] / "src" / "reread" / "samples"
STREAMS = sorted(SAMPLES.glob("conversations/*/*/*.jsonl"))
AGENTS = sorted(SAMPLES.glob("projects/**/agent-*.jsonl"))
MAIN = sorted(set(SAMPLES.glob("projects/*/*.jsonl")) - set(AGENTS))
KEPT = sorted(SAMPLES.glob("projects/*/*.zst"))
TRANSCRIPTS = MAIN + AGENTS

VERSIONS = {"1.0.128", "2.0.55", "2.1.220", "2.1.325"}
MODELS = {"claude-opus-5-5", "claude-sonnet-5", "claude-haiku-5-5"}
TOOLS = {
    "Agent", "AskUserQuestion", "Bash", "BashOutput", "Edit", "EnterPlanMode", "ExitPlanMode", "Glob", "Grep",
    "LSP", "MultiEdit", "NotebookEdit", "Read", "Skill", "Task", "TaskCreate", "TaskList", "TaskOutput",
    "TaskStop", "TaskUpdate", "TodoWrite", "ToolSearch", "WebFetch", "WebSearch", "Write",
    "mcp__browser__screenshot", "mcp__metrics__query",
}  # fmt: skip
RECORDS = {
    "agent-name", "ai-title", "assistant", "atis-latch", "attachment", "cost-state", "custom-title",
    "file-history-delta", "file-history-snapshot", "last-prompt", "mode", "permission-mode", "pr-link",
    "queue-operation", "summary", "system", "tools-used", "user",
}  # fmt: skip
SUBTYPES = {"api_error", "compact_boundary", "local_command", "stop_hook_summary", "turn_duration"}
ATTACHMENTS = {
    "command_permissions", "compact_file_reference", "date", "deferred_tools_delta", "environment", "file",
    "hook_success", "instructions", "mcp_instructions_delta", "model", "plan_mode", "plan_mode_exit",
    "queued_command", "session_context", "skill_listing",
}  # fmt: skip
BLOCKS = {"image", "text", "thinking", "tool_reference", "tool_result", "tool_use"}
TAGS = {
    "bash-input", "bash-stdout", "command-name", "local-command-caveat", "local-command-stdout",
    "persisted-output", "system-reminder", "task-notification",
}  # fmt: skip
TOKENS = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "cacheReadInputTokens": "cache_read_input_tokens",
    "cacheCreationInputTokens": "cache_creation_input_tokens",
}
WRITERS = {"Edit", "MultiEdit", "Write"}
COMMANDS = {"/compact", "/cost", "/model", "/rename", "/usage"}
STREAM_TYPES = {
    "assistant", "rate_limit_event", "result", "stream_event", "user", "system/hook_response",
    "system/hook_started", "system/init", "system/status", "system/task_notification", "system/task_progress",
    "system/task_started",
}  # fmt: skip


def load(path):
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    return [row.get("claudeMessage", row) for row in rows if "run" not in row]


def records(paths=TRANSCRIPTS):
    return [record for path in paths for record in load(path)]


def blocks(record):
    content = record.get("message", {}).get("content", [])
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def inner(block):
    return block["content"] if isinstance(block.get("content"), list) else []


def calls(paths):
    return {b["id"]: (b, r) for r in records(paths) for b in blocks(r) if b["type"] == "tool_use"}


def results(paths):
    return {b["tool_use_id"]: (b, r) for r in records(paths) for b in blocks(r) if b["type"] == "tool_result"}


def pairs(name, paths=TRANSCRIPTS):
    answers = results(paths)
    return [(use, *answers[id]) for id, (use, _) in calls(paths).items() if use["name"] == name]


def kinds(name):
    return [r.get("toolUseResult") for _, _, r in pairs(name, MAIN)]


def is_prompt(record):
    return record.get("type") == "user" and record.get("origin", {}).get("kind") == "human"


def test_every_line_is_one_json_object():
    for path in TRANSCRIPTS + STREAMS:
        raw = path.read_bytes()
        assert raw.endswith(b"\n") and b"\r" not in raw and b"\n\n" not in raw
        assert all(isinstance(json.loads(line), dict) for line in raw.decode().split("\n")[:-1]), path


def test_parents_precede_their_children_and_uuids_are_unique():
    everywhere = Counter(r["uuid"] for r in records(TRANSCRIPTS + STREAMS) if "uuid" in r)
    assert max(everywhere.values()) == 1
    for path in TRANSCRIPTS:
        seen = set()
        for record in load(path):
            if "uuid" in record:
                assert record["parentUuid"] is None or record["parentUuid"] in seen, (path, record["uuid"])
                seen.add(record["uuid"])


def test_records_name_their_project_and_session():
    for path in TRANSCRIPTS:
        for record in load(path):
            if "cwd" in record:
                assert path.relative_to(SAMPLES).parts[1] == re.sub(r"[^A-Za-z0-9]", "-", record["cwd"])
            if "sessionId" in record and path in MAIN:
                assert record["sessionId"] == path.stem


def test_every_call_is_answered_once():
    for path in TRANSCRIPTS:
        asked = [b["id"] for r in load(path) for b in blocks(r) if b["type"] == "tool_use"]
        answered = [b["tool_use_id"] for r in load(path) for b in blocks(r) if b["type"] == "tool_result"]
        assert sorted(asked) == sorted(answered), path
        assert len(set(asked)) == len(asked)
    for path in STREAMS:
        assert calls([path]).keys() == results([path]).keys()


def test_results_name_the_record_of_their_call():
    uses = calls(TRANSCRIPTS)
    for id, (_, record) in results(TRANSCRIPTS).items():
        if "sourceToolAssistantUUID" in record:
            assert record["sourceToolAssistantUUID"] == record["parentUuid"] == uses[id][1]["uuid"]


def test_ids_have_the_real_format():
    shapes = {"tool_use": r"toolu_01\w{22}", "message": r"msg_01\w{22}", "request": r"req_011\w{21}"}
    for record in records():
        if record["type"] == "assistant":
            assert re.fullmatch(shapes["message"], record["message"]["id"])
            assert re.fullmatch(shapes["request"], record["requestId"])
    assert all(re.fullmatch(shapes["tool_use"], id) for id in calls(TRANSCRIPTS))


def test_each_response_line_has_one_block_and_the_final_usage():
    lines = defaultdict(list)
    for record in records():
        if record["type"] == "assistant":
            assert len(blocks(record)) == 1
            lines[record["message"]["id"]].append(record)
    for chunks in lines.values():
        last = chunks[-1]
        assert last["message"]["stop_reason"] or last.get("isAbortedMidStream")
        assert len({c["requestId"] for c in chunks}) == len({c["message"]["model"] for c in chunks}) == 1
        if last["version"].startswith("2.1"):
            assert all(c["message"]["usage"] == last["message"]["usage"] for c in chunks)
            assert all(c["message"]["stop_reason"] == last["message"]["stop_reason"] for c in chunks)


def test_times_increase_through_november_2026():
    days = set()
    for path in TRANSCRIPTS:
        written = [r for r in load(path) if r.get("attachment", {}).get("type") != "queued_command"]
        times = [r["timestamp"] for r in written if "uuid" in r]
        assert times == sorted(times), path
        days |= {time[:10] for time in times}
    assert all(day.startswith("2026-11-") for day in days) and len(days) >= 5


def test_costs_add_up():
    for path in MAIN:
        states = [r for r in load(path) if r["type"] == "cost-state"]
        group = records([path, *path.with_suffix("").glob("subagents/*.jsonl")])
        once = {r["message"]["id"]: r["message"] for r in group if r["type"] == "assistant"}
        ended = [m for m in once.values() if m["stop_reason"]]
        for model, used in states[-1]["modelUsage"].items() if states else ():
            for key, name in TOKENS.items():
                assert used[key] == sum(m["usage"][name] for m in ended if m["model"] == model), (
                    path,
                    model,
                    key,
                )


def edited(call, before):
    edits = call.get("edits") or [call]
    for edit in edits:
        assert before.count(edit["old_string"]) == 1 or edit.get("replace_all")
        before = before.replace(edit["old_string"], edit["new_string"])
    return before


def side(hunk, signs):
    return [line[1:] for line in hunk["lines"] if line[0] in signs]


def check_patch(patch, before, after):
    old, new, at, rebuilt = before.splitlines(), after.splitlines(), 0, []
    for hunk in patch:
        start = hunk["oldStart"] - 1
        assert side(hunk, " -") == old[start : start + hunk["oldLines"]]
        assert side(hunk, " +") == new[hunk["newStart"] - 1 :][: hunk["newLines"]]
        rebuilt += old[at:start] + side(hunk, " +")
        at = start + hunk["oldLines"]
    assert rebuilt + old[at:] == new


def whole_file(use, data):
    if use["name"] == "Read" and data["type"] == "text":
        file = data["file"]
        return file["content"] if file["numLines"] == file["totalLines"] else None
    return data.get("originalFile") or data.get("originalFileContents") if use["name"] in WRITERS else None


def test_diffs_apply():
    checked = Counter()
    for path in MAIN:
        known, answers = {}, results([path])
        for id, (use, _) in calls([path]).items():
            data, file = answers[id][1].get("toolUseResult"), use["input"].get("file_path")
            known[file] = whole_file(use, data) or known.get(file)
            if use["name"] in WRITERS:
                before = known[file] or ""
                after = use["input"].get("content") or edited(use["input"], before)
                if data.get("type") == "create":
                    assert data["structuredPatch"] == [] and data["content"] == after
                else:
                    check_patch(data["structuredPatch"], before, after)
                known[file] = after
                checked[data.get("type") or use["name"]] += 1
    assert checked.keys() == {"Edit", "MultiEdit", "create", "update"} and checked["Edit"] > 20


def test_the_samples_cover_every_kind_of_content():
    everything = records()
    content = [b for r in everything for b in blocks(r)]
    text = "\n".join(str(b.get("text") or b.get("content")) for b in content)
    text += "\n".join(r.get("content", "") for r in everything if r["type"] == "system")
    assert {r["type"] for r in everything} == RECORDS
    assert {r["subtype"] for r in everything if r["type"] == "system"} == SUBTYPES
    assert {r["attachment"]["type"] for r in everything if r["type"] == "attachment"} == ATTACHMENTS
    assert {b["type"] for b in content + [i for b in content for i in inner(b)]} == BLOCKS
    assert {use["name"] for use, _ in calls(TRANSCRIPTS).values()} == TOOLS
    assert {r["version"] for r in everything if "version" in r} == VERSIONS
    assert {r["message"]["model"] for r in everything if r["type"] == "assistant"} >= MODELS
    assert {tag for tag in TAGS if f"<{tag}>" in text} == TAGS
    assert set(re.findall(r"<command-name>(/\w+)</command-name>", text)) == COMMANDS
    assert len({r["gitBranch"] for r in everything if "gitBranch" in r}) >= 4
    assert len({r["cwd"] for r in everything if "cwd" in r}) == 3


def test_the_samples_cover_the_shapes_of_results():
    bash, read = kinds("Bash"), [data["type"] for data in kinds("Read")]
    assert any(isinstance(d, str) and d.startswith("Error: Exit code 1\n") and "\x1b[31m" in d for d in bash)
    assert any(isinstance(d, dict) and "backgroundTaskId" in d for d in bash)
    assert any(isinstance(d, dict) and "gitOperation" in d for d in bash)
    assert bash.count("User rejected tool use") == 2
    assert set(read) == {"text", "image", "notebook"}
    assert any(d["type"] == "text" and d["file"]["numLines"] < d["file"]["totalLines"] for d in kinds("Read"))
    assert {d["mode"] for d in kinds("Grep")} == {"content", "count", "files_with_matches"}
    assert {d["retrieval_status"] for d in kinds("TaskOutput")} == {"not_ready", "success"}
    assert {d["status"] for d in kinds("Agent")} == {"async_launched", "completed"}
    assert len({json.dumps(d["newTodos"]) for d in kinds("TodoWrite")}) >= 4
    assert all(len(d["answers"]) == len(d["questions"]) == 2 for d in kinds("AskUserQuestion"))
    assert all(d["plan"].startswith("# ") for d in kinds("ExitPlanMode"))
    assert [{b["type"] for b in d} for d in kinds("mcp__browser__screenshot")] == [{"text", "image"}]
    [(_, _, query)] = pairs("mcp__metrics__query")
    assert json.loads(query["toolUseResult"]) == query["mcpMeta"]["structuredContent"]
    assert {r.get("toolDenialKind") for r in records()} == {None, "permission-rule", "user-rejected"}


def test_thinking_with_and_without_its_text():
    thinking = [b for r in records() for b in blocks(r) if b["type"] == "thinking"]
    assert all(b["signature"] for b in thinking)
    assert {bool(b["thinking"]) for b in thinking} == {True, False}


def test_pictures_are_pictures():
    pasted = [r for r in records() if "imagePasteIds" in r]
    assert [r["imagePasteIds"] for r in pasted] == [[1]] and "[Image #1]" in blocks(pasted[0])[0]["text"]
    shown = [i for r in records() for b in blocks(r) for i in [b, *inner(b)] if i["type"] == "image"]
    assert len(shown) >= 4
    for image in shown:
        data = base64.b64decode(image["source"]["data"], validate=True)
        width = int.from_bytes(data[16:20])
        assert data.startswith(b"\x89PNG\r\n\x1a\n") and 300 <= width <= 600 and len(data) < 12_000


def test_a_result_comes_between_the_lines_of_one_response():
    for path in MAIN:
        ids = [r["message"].get("id") for r in load(path) if r["type"] in ("user", "assistant")]
        if any(a and a == c and b is None for a, b, c in zip(ids, ids[1:], ids[2:], strict=False)):
            return
    raise AssertionError("no response is interrupted by a result")


def test_agents_are_linked():
    uses, metas = calls(TRANSCRIPTS), {}
    for path in SAMPLES.glob("projects/*/*/subagents/*.meta.json"):
        [meta] = load(path)
        metas[path.name.removeprefix("agent-").removesuffix(".meta.json")] = meta
        assert uses[meta["toolUseId"]][0]["input"]["description"] == meta["description"]
    for id, meta in metas.items():
        assert meta.get("parentAgentId") in (None, *metas)
        assert meta["spawnDepth"] == 1 + ("parentAgentId" in meta)
        assert any(path.stem == f"agent-{id}" for path in AGENTS)
    assert {meta["spawnDepth"] for meta in metas.values()} == {1, 2}
    assert {meta["requestShape"] for meta in metas.values()} == {"background", "foreground"}
    beside = {path.stem.removeprefix("agent-") for path in SAMPLES.glob("projects/*/agent-*.jsonl")}
    linked = {data["agentId"] for data in kinds("Task") if "agentId" in data}
    assert linked < beside and all(re.fullmatch("[0-9a-f]{8}", id) for id in beside)
    assert any(r["isSidechain"] for r in records(MAIN) if "isSidechain" in r)


def test_a_background_agent_reports_by_notification():
    [launched] = [data for data in kinds("Agent") if data["status"] == "async_launched"]
    reports = [r for r in records() if r.get("origin", {}).get("kind") == "task-notification"]
    assert [f"<task-id>{launched['agentId']}</task-id>" in r["message"]["content"] for r in reports] == [True]


def test_a_large_output_has_a_file_of_its_own():
    [data] = [d for d in kinds("Bash") if isinstance(d, dict) and "persistedOutputPath" in d]
    [kept] = SAMPLES.glob("projects/*/*/tool-results/*.txt")
    assert data["persistedOutputPath"].endswith(str(kept.relative_to(SAMPLES)))
    assert kept.stat().st_size == data["persistedOutputSize"] > 30_000
    assert kept.read_text("utf-8").startswith(data["stdout"])


def test_the_compaction_is_written_as_the_client_writes_one():
    [path] = [path for path in MAIN if any(r.get("subtype") == "compact_boundary" for r in load(path))]
    tree = [r for r in load(path) if "uuid" in r]
    at = next(n for n, r in enumerate(tree) if r.get("subtype") == "compact_boundary")
    boundary, summary = tree[at : at + 2]
    facts = boundary["compactMetadata"]
    assert boundary["parentUuid"] is None and boundary["logicalParentUuid"] == tree[at - 1]["uuid"]
    assert summary["isCompactSummary"] and summary["parentUuid"] == boundary["uuid"]
    assert facts["preTokens"] - facts["postTokens"] == facts["cumulativeDroppedTokens"] > 0
    assert set(facts["preservedMessages"]["uuids"]) <= {r["uuid"] for r in tree[:at]}
    assert facts["preservedMessages"]["anchorUuid"] == summary["uuid"]


def test_one_prompt_was_rewound_and_asked_again():
    parents = Counter(r["parentUuid"] for r in records(MAIN) if is_prompt(r))
    assert [n for parent, n in parents.items() if parent and n > 1] == [2]


def test_queued_input():
    queued = [r["attachment"] for r in records() if r.get("attachment", {}).get("type") == "queued_command"]
    removed = {r["commandUuid"]: r["content"] for r in records() if r.get("operation") == "remove"}
    assert {a["commandMode"] for a in queued} == {"prompt", "task-notification"}
    assert all(removed[a["source_uuid"]] == a["prompt"] for a in queued)


def test_interrupts_and_retries():
    texts = Counter(b.get("text", "") for r in records() for b in blocks(r))
    assert texts["[Request interrupted by user]"] == 1
    assert texts["[Request interrupted by user for tool use]"] == 2
    assert sum(r.get("isAbortedMidStream", False) for r in records()) == 1
    assert [r["retryAttempt"] for r in records() if r.get("subtype") == "api_error"] == [1, 2]


def test_the_stream_is_what_the_client_prints():
    [path] = STREAMS
    lines = load(path)
    types = {f"{r['type']}/{r['subtype']}" if r["type"] == "system" else r["type"] for r in lines}
    assert types >= STREAM_TYPES and lines[-1]["type"] == "result" and lines[-1]["subtype"] == "success"
    assert len({r["session_id"] for r in lines}) == 1
    assert any(r["type"] == "assistant" and r["parent_tool_use_id"] for r in lines)
    deltas = [r["event"]["delta"] for r in lines if r.get("event", {}).get("type") == "content_block_delta"]
    streamed = "".join(d.get("text", "") for d in deltas)
    content = [b for r in lines if r["type"] == "assistant" for b in blocks(r)]
    whole = "".join(b["text"] for b in content if b["type"] == "text")
    assert streamed == whole and lines[-1]["result"] in whole


def test_no_path_of_a_real_machine_is_in_the_samples():
    for path in SAMPLES.rglob("*.*"):
        if path.suffix in (".jsonl", ".json", ".txt", ".md"):
            text = path.read_text("utf-8")
            assert set(re.findall(r"(?<=/home/)\w+", text)) <= {"sam"}, path
            assert not re.search(r"/root\b|/Users/|/tmp/(?!claude-1000/|harbor-copy)", text), path


def test_the_samples_are_small_and_described():
    assert sum(path.stat().st_size for path in SAMPLES.rglob("*") if path.is_file()) < 1_000_000
    readme = (SAMPLES / "README.md").read_text("utf-8")
    assert len(readme.splitlines()) <= 25
    assert all(f"`{path.stem[:8]}`" in readme for path in MAIN + STREAMS + KEPT)
    assert len(MAIN + STREAMS + KEPT) == 9


def test_the_demo_shows_everything():
    headers = {header.id[:8]: header for header in reread.sessions(root=SAMPLES)}
    assert [id for id, header in headers.items() if header.gone] == ["1d9c4e83"]
    assert [id for id, header in headers.items() if header.starred] == ["8c1f0b52"]
    assert {id for id, header in headers.items() if header.note} == {"8c1f0b52", "c3e81f6d"}
    panel = reread.open(headers["c3e81f6d"].path)
    times = [[message.timestamp for message in agent.messages] for agent in panel.agents.values()]
    starts, ends = [min(own) for own in times], [max(own) for own in times]
    assert len(starts) == 3 and max(starts) < min(ends)
    assert {name.rpartition("/")[2]: len(file.versions) for name, file in panel.files.items()} == {
        "retries.ts": 4, "retries.test.ts": 2,
    }  # fmt: skip
    assert [commit.sha for commit in panel.commits] == ["d40b9e6"]


def test_the_secrets_in_the_samples_are_found_and_made_up(tmp_path, monkeypatch):
    monkeypatch.setenv("REREAD_HOME", str(tmp_path))
    path = next(SAMPLES.glob("projects/*/c3e81f6d*.jsonl"))
    redaction = reread.redact(path)
    kinds = {finding.kind for finding in redaction.findings if finding.level != "personal"}
    assert {"aws-access-key-id", "aws-secret-key", "key-or-token", "url-password"} <= kinds
    redaction.replace_undecided()
    made_up = re.compile(rb"\w*EXAMPLE\w*|hbr_not_a_real_token|not-a-real-password")
    assert len(set(made_up.findall(path.read_bytes()))) == 4
    assert made_up.findall(redaction.export("jsonl")) == []


def test_a_search_finds_sessions_of_every_project(tmp_path, monkeypatch):
    monkeypatch.setenv("REREAD_CACHE", str(tmp_path))
    assert {hit.project for hit in reread.search("backoff", root=SAMPLES)} == {
        f"/home/sam/code/{name}" for name in ("almanac", "harbor", "lantern")
    }
