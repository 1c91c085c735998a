"""A notation and an operation that clada does not have: one file each, registered by one row."""
