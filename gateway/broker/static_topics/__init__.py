"""Static topics: queues whose pieces lie on several brokers."""
