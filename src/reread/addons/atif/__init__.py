"""Trajectories in the Agent Trajectory Interchange Format, which `reread capture --from` makes sessions of."""

from reread.base.addons import Addon

ADDON = Addon(dialects={"atif": f"{__name__}.dialect"}, importers={"atif": f"{__name__}.trajectories"})
