"""A group of replicas: master, slaves, and the tables that slaves copy."""
