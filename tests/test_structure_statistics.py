"""Moments of the rows of sites."""

import numpy as np

from dapdag.structure.statistics import SiteMoments, chunks


def test_moments_of_parts_add_up_to_those_of_the_whole():
    rng = np.random.default_rng(0)
    rows, site = rng.normal(size=(60, 4)), rng.integers(3, size=60)
    whole = SiteMoments.of(rows, site, 3)
    parts = SiteMoments.of(rows[:25], site[:25], 3) + SiteMoments.of(rows[25:], site[25:], 3)
    np.testing.assert_allclose(parts.gram, whole.gram)
    np.testing.assert_array_equal(parts.count, whole.count)
    assert whole.n_rows == 60
    np.testing.assert_allclose(whole.gram[1], rows[site == 1].T @ rows[site == 1])


def test_chunks_cover_every_row_once_and_stay_within_a_site():
    bounds = np.array([0, 5, 5, 12])
    found = [(m, list(range(s.start, s.stop))) for m, s in chunks(bounds, size=3)]
    assert [row for _, rows in found for row in rows] == list(range(12))
    assert all(len(rows) <= 3 for _, rows in found)
    assert {m for m, _ in found} == {0, 2}
