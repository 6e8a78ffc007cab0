"""Tests of `pipeline` that need no Spark; those that do are in `spark_tests`."""
