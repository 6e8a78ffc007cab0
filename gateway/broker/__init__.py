"""The broker: a package for each area of requests."""
