"""`reread` and `python -m reread` are the command line."""

import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command line; Ctrl-C ends it in good order while it is still being loaded, too."""
    try:
        from reread.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
