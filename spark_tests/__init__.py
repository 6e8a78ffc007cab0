"""The Spark source, sink, store reader and jobs, on a real session and a real server (`tox -e spark`)."""
