"""Side by side with what a user would pick instead. `python benchmarks/run.py` prints ratios."""
