"""Messages from producers: sends, batches, replies, messages sent back, timers and their recall."""
