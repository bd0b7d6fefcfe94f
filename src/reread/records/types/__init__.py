"""One struct for every type of record that Claude Code writes or prints, in the native format.

Field names are those of the file. Every field is optional. A field whose value does not have the declared type holds
that value as written. Unknown fields are not kept here, because the record keeps its bytes.

To add a type, write its struct: a subclass of `TreeRecord`, `StateRecord`, `StreamRecord`, `System` or one of the
payloads, with a default for `type` (or `subtype`). `register_structs` finds it.
"""

# ruff: noqa: F403, F405

from reread.records.types.api import *
from reread.records.types.attachments import *
from reread.records.types.base import *
from reread.records.types.convert import *
from reread.records.types.drift import *
from reread.records.types.hooks import *
from reread.records.types.json_schema import *
from reread.records.types.messages import *
from reread.records.types.progress import *
from reread.records.types.registry import *
from reread.records.types.state import *
from reread.records.types.stream import *
from reread.records.types.stream_system import *
from reread.records.types.system import *
from reread.records.types.usage import *

register_structs()
