"""The version, on its own so that `clada --version` loads nothing else."""

VERSION = "0.1.0"
