"""The API server: machinery, types, registry, endpoints, server and controllers."""
