"""Pure text work: finding, counting, replacing, explaining."""
