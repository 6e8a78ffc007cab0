"""The brokers beside this one: registration with name servers, the directory of brokers, routes."""
