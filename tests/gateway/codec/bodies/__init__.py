"""The bodies: their JSON, member by member and as the standard prints it."""
