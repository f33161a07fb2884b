"""How the server tells what it does: logs and metrics."""
