"""The version, on its own so that `clada --version` loads nothing else."""

VERSION = "1.0.0"
