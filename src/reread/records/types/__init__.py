"""Records: the struct of every line that Claude Code writes or prints, in the native tongue.

Attribute names are the file's own. Every field is optional; one whose value has another shape than its type
says holds that value as written. Fields that no type knows are not here: the bytes are kept elsewhere.

A new type needs its struct and nothing else: its module enters all subclasses of a base in the tables, and
the names of all modules are one namespace here.
"""

# ruff: noqa: F403

from reread.records.types.api import *
from reread.records.types.attachments import *
from reread.records.types.base import *
from reread.records.types.convert import *
from reread.records.types.drift import *
from reread.records.types.json_schema import *
from reread.records.types.messages import *
from reread.records.types.progress import *
from reread.records.types.registry import *
from reread.records.types.state import *
from reread.records.types.stream import *
from reread.records.types.system import *
from reread.records.types.usage import *
