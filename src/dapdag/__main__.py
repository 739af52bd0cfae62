"""`python -m dapdag` is the command `dapdag`."""

from dapdag.cli import main

if __name__ == "__main__":
    main()
