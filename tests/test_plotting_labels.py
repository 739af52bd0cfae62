"""Names that are too long."""

from plotting_helpers import LONG

from dapdag.plotting.labels import shortened


def test_long_names_keep_both_ends():
    short = shortened(LONG, 20)
    assert len(short) == 20
    assert short.startswith("a hospital")
    assert short.endswith("point")
    assert shortened("x") == "x"
