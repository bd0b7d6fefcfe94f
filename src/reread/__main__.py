"""Entry point of `reread` and `python -m reread`."""

import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command line; exit cleanly on Ctrl-C even while modules are still being imported."""
    try:
        from reread.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
