"""The broker: one file a request area."""
