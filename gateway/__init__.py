"""The gateway: everything on the wire, and the services behind it."""
