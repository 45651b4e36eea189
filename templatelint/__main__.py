"""`python -m templatelint` is the `templatelint` program."""

from templatelint.cli.main import main

if __name__ == "__main__":
    main()
