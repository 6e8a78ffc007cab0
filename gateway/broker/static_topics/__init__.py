"""Static topics: queues whose mapping items are on several brokers."""
