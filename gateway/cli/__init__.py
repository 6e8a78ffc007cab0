"""The commands."""

from mqgateway.gateway.cli.collecting import seldom

seldom()
