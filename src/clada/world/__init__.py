"""The only side effects: files, processes, git, approvals."""
