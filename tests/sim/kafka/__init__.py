"""Transactions and idempotence of Kafka's producers through faults, by the rules of Jepsen's queues."""
