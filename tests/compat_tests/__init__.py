"""What the compatibility suite itself decides, without servers and clients."""
