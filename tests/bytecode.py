"""Compiled modules are kept in `build/bytecode`, for this process and for those that tests start.

Many tests start `reread`. On a machine that keeps no bytecode (PYTHONDONTWRITEBYTECODE, as in many containers), each
start would compile everything that it imports, which takes three times as long as the rest.
"""

import os
import sys
from pathlib import Path

sys.dont_write_bytecode = False
sys.pycache_prefix = os.environ.get("PYTHONPYCACHEPREFIX") or str(Path(__file__).parents[1] / "build" / "bytecode")
os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
