"""Formats of other programs: a format is one module, with its name and a `FORMAT`."""

from pkgutil import iter_modules

from reread.base.addons import Addon

_MODULES = [module.name for module in iter_modules(__path__) if not module.name.startswith("_")]
ADDON = Addon(formats={name.replace("_", "-"): f"{__name__}.{name}:FORMAT" for name in _MODULES})
