"""python -m tilewright"""

import sys

from tilewright.cli import main

sys.exit(main())
