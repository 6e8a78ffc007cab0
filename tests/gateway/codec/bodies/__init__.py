"""The bodies: their JSON, member by member and as RocketMQ prints it."""
