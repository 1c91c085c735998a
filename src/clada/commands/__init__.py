"""Pure command work: words as sh reads them, and the policy of what may run."""
