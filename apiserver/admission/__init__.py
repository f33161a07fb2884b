"""Should it be so: checks that need more than the object itself."""
