"""The workspace: contained, atomic file access, on disk and on an overlay."""
