"""The verbs of the generic store, one file each."""
