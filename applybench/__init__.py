"""Measures programs that apply a model's edits to files: how often they are right, refuse, or are wrong."""
