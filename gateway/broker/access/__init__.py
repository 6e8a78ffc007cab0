"""Users and policies by request; what they mean is in `gateway.access`."""
