"""Certificate authority, serving certificate, rotation and bundle. Knows nothing of the API server."""
