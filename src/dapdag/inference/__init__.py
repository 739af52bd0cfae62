"""A fitted model and rows of a site → E, novelty, the label's distribution, missing cells."""
