"""One struct for every type of record that Claude Code writes or prints, in the native format.

Field names are those of the file, every field is optional, and a value of another type than declared is kept as
written. A new type is a paragraph in one of the text files or, where other modules name it or a field needs
explaining, a struct below `TreeRecord`, `StateRecord`, `StreamRecord`, `System` or one of the payloads, which
`register_structs` finds.
"""

# ruff: noqa: F403, F405

from reread.records.types.api import *
from reread.records.types.attachments import *
from reread.records.types.base import *
from reread.records.types.declared import *
from reread.records.types.drift import *
from reread.records.types.messages import *
from reread.records.types.registry import *
from reread.records.types.state import *
from reread.records.types.stream import *
from reread.records.types.system import *
from reread.records.types.usage import *

declare_structs(__name__)
register_structs()
