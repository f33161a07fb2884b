"""Where jobs go: pure functions over a picture of the fleet.
No I/O, no clock, no Kubernetes objects but in `facts`."""
