"""`python -m reread` is the command line."""

from reread.cli import main

main()
