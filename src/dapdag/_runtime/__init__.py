"""What runs beneath the method: cache, compilation, files, progress, text for people."""
