"""Tests of a hook and of a memory file over a session that was once recorded: `pytest --rerun-client 2.1.327`."""


def test_without_the_guard_everything_is_as_it_was(rerun):
    found = rerun("push.jsonl")
    assert not found.failure
    assert not found.differences
    assert all(file.same for file in found.files)


def test_the_guard_stops_the_push_and_nothing_else(rerun):
    found = rerun("push.jsonl", hooks=[__file__.replace("test_guard.py", "guard.sh")])
    assert not found.failure
    assert found.denied == ["Bash Push the fix"]
    assert found.differences == ["turn 1 Bash Push the fix: done → denied"]
