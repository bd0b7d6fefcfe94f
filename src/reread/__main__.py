"""`python -m reread` is the command line."""

from reread.cli import main

if __name__ == "__main__":
    main()
