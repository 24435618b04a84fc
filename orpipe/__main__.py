"""`python -m orpipe` is `orpipe`."""

from orpipe.cli import main

if __name__ == "__main__":
    main()
