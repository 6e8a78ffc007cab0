"""What producers send: messages, batches, replies, what comes back, timers and their recall."""
