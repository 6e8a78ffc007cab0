"""The engine: storage and scheduling of messages; no network, knows nothing of the gateway."""
