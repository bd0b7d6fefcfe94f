"""Trajectories in the Agent Trajectory Interchange Format, which `reread adopt` makes sessions of."""

from reread.base.addons import Addon

ADDON = Addon(dialects={"atif": "reread.records.dialects.atif"})
