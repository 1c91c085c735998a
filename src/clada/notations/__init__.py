"""Text to operations: one module a notation, no input or output."""
