"""How large a table may be."""

# The graph has a filter for every pair of columns: time and memory grow with their square.
MAX_COLUMNS = 1000
