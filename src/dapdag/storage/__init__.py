"""A fit as JSON and arrays, and back."""
