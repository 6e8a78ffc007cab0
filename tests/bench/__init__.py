"""The parts of the benchmarks that measure nothing."""
