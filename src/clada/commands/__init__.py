"""Commands without side effects: splitting them into words as sh does, and deciding what may run."""
