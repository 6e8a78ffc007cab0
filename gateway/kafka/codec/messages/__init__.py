"""Messages of Kafka's protocol; `scripts/kafka_messages.py` generates the modules."""
