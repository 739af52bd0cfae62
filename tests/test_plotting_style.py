"""Values that are spread so that they can be read."""

import numpy as np
import pytest

from dapdag.plotting.style import spread


def test_spread_keeps_order_and_distance_and_moves_little():
    wanted = np.array([0.0, 0.1, 0.1, 5.0])
    placed = spread(wanted, np.ones(4))
    assert (np.diff(placed) >= 1 - 1e-9).all()
    assert placed[:3].mean() == pytest.approx(wanted[:3].mean())
    assert placed[3] == 5.0
    bounded = spread(np.array([9.0, 9.0]), np.ones(2), within=(0, 3))
    np.testing.assert_allclose(bounded, [2, 3])
