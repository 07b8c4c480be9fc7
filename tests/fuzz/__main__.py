"""python tests/fuzz"""

import sys
from pathlib import Path

# The folder of tests, in place of this one.
sys.path[0] = str(Path(__file__).resolve().parents[1])

from fuzz.program import main  # noqa: E402

sys.exit(main())
