"""Who are you, and may you. Knows requests as headers and a peer certificate,
the host cluster as small Protocols.
"""
