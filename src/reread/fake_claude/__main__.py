"""Run the fake `claude`: `python -m reread.fake_claude`."""

from reread.fake_claude.client import main

if __name__ == "__main__":
    main()
