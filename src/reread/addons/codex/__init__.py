"""Runs of the Codex CLI: its rollouts are read as they are, and `reread capture --from` makes sessions of them."""

from reread.base.addons import Addon

ADDON = Addon(dialects={"codex": f"{__name__}.dialect"}, importers={"codex": f"{__name__}.rollouts"})
