"""The helpers of the scenarios, as far as they make decisions of their own."""
