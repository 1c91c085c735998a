"""Processes: started, streamed, limited and ended, with all that they start."""
