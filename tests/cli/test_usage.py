"""How the command line is read: help, versions, wrong flags, values, files and where documents come from."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from conftest import CLADA, Shell, Terminals

from clada.cli.flags import BY_NAME, COMMANDS, FLAGS
from clada.cli.help import command_help
from clada.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable
