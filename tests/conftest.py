"""What holds for every test."""

import os

# Mesa's layer that sorts the devices writes errors to stderr where no display server is found.
os.environ.setdefault("NODEVICE_SELECT", "1")
