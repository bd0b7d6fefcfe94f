"""A fake `claude` command that answers from recordings, for tests of programs that run it.

It reads recordings and speaks the client's protocol on standard input and output; it runs no model and no tool.
"""
