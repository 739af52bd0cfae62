"""Tables → arrays: columns and their types, samples of several domains, blocks, chunks."""
