"""Confinement of commands: bubblewrap, or Landlock and seccomp."""
