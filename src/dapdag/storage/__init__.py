"""What was learned as JSON and arrays, and back."""
