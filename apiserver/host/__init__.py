"""The client of the cluster that this server extends."""
