"""The client against whole servers in memory."""
