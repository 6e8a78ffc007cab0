"""Tests of the project's own scripts."""
