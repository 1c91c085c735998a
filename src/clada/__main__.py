"""`python -m clada`: the same as the `clada` command."""

from clada.cli import start

start()
