"""``python -m heavytail`` is the command ``heavytail``."""

from heavytail_command import main

if __name__ == "__main__":
    main()
