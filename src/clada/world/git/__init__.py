"""Git: every run recorded, nothing foreign executed, everything can be undone."""
