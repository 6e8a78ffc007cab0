"""The Helm chart, rendered by Helm itself, and its pods played by processes: `tox -e helm`."""
