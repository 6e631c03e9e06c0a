"""Results of other benchmarks in this one's terms."""
