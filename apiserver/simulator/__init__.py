"""A simulated cluster for development: core/v1 stand-ins, GPU nodes, a kubelet."""
