"""Go on with a session elsewhere or from before, and remove one: all that writes below Claude Code's folder."""
