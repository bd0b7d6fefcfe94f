"""Git repositories, read by the program `git` with nothing of theirs run."""
