"""Runs of the Codex CLI: its rollouts are read as they are, and `reread adopt` makes sessions of them."""

from reread.base.addons import Addon

ADDON = Addon(dialects={"codex": "reread.records.dialects.codex"})
