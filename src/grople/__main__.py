"""Let ``python -m grople`` do what ``grople`` does."""

from grople.cli import main

if __name__ == "__main__":
    main()
