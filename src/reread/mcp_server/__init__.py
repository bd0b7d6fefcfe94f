"""Sessions for agents: a read-only server of the Model Context Protocol."""
