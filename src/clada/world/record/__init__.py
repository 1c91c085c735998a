"""The record of runs: a private journal of raw bytes for each, the history of them, and undo."""
