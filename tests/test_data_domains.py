"""Domains in a natural order."""

import numpy as np

from dapdag.data.domains import natural_positions


def test_numbers_come_by_size_and_texts_by_the_numbers_in_them():
    labels = ["site 10", "site 9", 11, "site", np.int64(2), "9b", "10a"]
    found = [labels[k] for k in natural_positions(labels)]
    assert found == [2, 11, "9b", "10a", "site", "site 9", "site 10"]
