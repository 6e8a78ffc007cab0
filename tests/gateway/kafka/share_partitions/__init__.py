"""Share partitions, without a broker."""
