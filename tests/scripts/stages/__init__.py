"""Tests of the test command."""
