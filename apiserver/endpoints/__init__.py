"""One file a verb: HTTP in, HTTP out, no rules of their own."""
