"""Confinement of commands: bubblewrap, namespaces of our own, or Landlock; and seccomp in each."""
