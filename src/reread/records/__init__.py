"""Records: the struct of every line that Claude Code writes or prints, in the native tongue.

Attribute names are the file's own. Every field is optional; one whose value has another shape than its type
says holds that value as written. Fields that no type knows are not here: the bytes are kept elsewhere.

A new type needs its struct and nothing else: its module enters all subclasses of a base in the tables, and
the names of all modules are one namespace here.
"""

# ruff: noqa: F403

from reread.records.api import *
from reread.records.attachments import *
from reread.records.base import *
from reread.records.drift import *
from reread.records.progress import *
from reread.records.reading import *
from reread.records.schema import *
from reread.records.states import *
from reread.records.stream import *
from reread.records.systems import *
from reread.records.tables import *
from reread.records.talk import *
from reread.records.usage import *
