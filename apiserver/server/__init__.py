"""The handler chain, TLS, and the life of the listener."""
