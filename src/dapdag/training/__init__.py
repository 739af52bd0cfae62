"""The paper's training algorithm, for any number of independent lanes at once."""
