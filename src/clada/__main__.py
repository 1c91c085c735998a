"""`python -m clada`: the same as the `clada` command."""

import sys

from clada.cli import main

sys.exit(main())
