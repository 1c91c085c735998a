"""Files that look like secrets: their names, what they hold, and what keeps that out of all output."""
