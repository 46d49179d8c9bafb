"""`python -m headlight`: the command of a checkout."""

import sys

from .command import main

sys.exit(main())
