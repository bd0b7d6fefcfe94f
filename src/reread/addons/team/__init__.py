"""Figures of a team: what its machines write with `reread tables --to`, reported on by all who may read them."""

from reread.base.addons import Addon

ADDON = Addon(
    options={verb: f"{__name__}.options:extend_{verb}" for verb in ("digest", "serve", "stats", "tables", "usage")},
    guest_routes={"/api/team": f"{__name__}.page:team_page"},
    names={"team": f"{__name__}.reports:team"},
)
