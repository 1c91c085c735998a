"""What each operation does to a world: one module an operation."""
