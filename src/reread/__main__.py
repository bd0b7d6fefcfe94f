"""Entry point of `reread` and `python -m reread`."""

import sys

INTERRUPTED = 130
STATUS_LINE, ITS_OPTIONS = "statusline", ("--format", "--format=")


def main() -> None:
    """Run the command line; exit cleanly on Ctrl-C even while modules are still being imported."""
    try:
        words = sys.argv[1:]
        if words[:1] == [STATUS_LINE] and (len(words) == 1 or words[1].startswith(ITS_OPTIONS)):
            from reread.reports.status_line import main as print_status  # without what the other verbs import

            print_status(words[1:])
        from reread.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
