"""Which sets of parameters beyond the paper's are worth it, by recordings (docs/terms.md)."""
