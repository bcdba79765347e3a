"""``python -m warploom``."""

from warploom.cli import main

if __name__ == "__main__":
    main()
