"""Requests about users and policies, which `gateway.access` implements."""
