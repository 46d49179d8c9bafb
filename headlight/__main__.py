"""Entry point of `python -m headlight`."""

import sys

from .command import main

sys.exit(main())
