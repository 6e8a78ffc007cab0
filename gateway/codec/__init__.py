"""Bytes to commands and back; pure."""
