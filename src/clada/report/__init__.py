"""Outcomes to status lines and summaries."""
