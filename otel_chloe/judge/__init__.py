"""The judge: what a model is asked about a run, what it may see of it, and what its answer means."""
