"""A group of replicas: the master's side, the slave's side, tables that a slave takes over."""
