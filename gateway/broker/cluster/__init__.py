"""Other brokers: registration with name servers, the directory of brokers, routes."""
