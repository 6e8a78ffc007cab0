"""Tests of the server for tests."""
