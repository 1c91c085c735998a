"""Files that look like secrets: their names, and the masks of their values in output."""
