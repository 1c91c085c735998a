"""Text without side effects: finding, replacing, comparing, escaping."""
