"""Kafka's protocol on the broker's log."""
