"""All constants of the graph search, each with its reason."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# A categorical parent costs one coefficient per level; text with more levels is rather a key.
MAX_LEVELS = 30

# Longer tables are represented by this many rows, drawn at random from all rows alike, and at
# least the second number of every site (fewer with more than 400 sites). The score needs the
# residuals of many parent sets row by row, and every term of it must count the same rows: sums over
# all rows beside a density of residuals that is scaled up from a sample would add that sample's
# error, thousands of nats at 1,000,000 rows. Beyond some ten thousand rows a graph is wrong because
# mechanisms are approximated, not because rows are few; effects of less than about a thousandth of
# the variance are missed.
MAX_ROWS = 20_000
MIN_SITE_ROWS = 50

# Two columns whose squared correlation reaches this are the same measurement.
COPY_R2 = 1.0 - 1e-9

# Rounds of regressions that fill missing cells: the draws hardly change after three.
FILL_ROUNDS = 3
# Donors among which a discrete missing cell is drawn (predictive mean matching).
FILL_DONORS = 5
# A site needs this many observed rows per regression coefficient for a regression of its own.
FILL_ROWS_PER_COEFFICIENT = 3

# Degrees of the features of a numeric column with values z and normal scores u: z, u², u³, z²,
# z³, and what cubic splines add to them. Powers of z follow squares, products and exponentials
# into the tails; splines follow a sum of steep tanh to below the noise at a few thousand rows,
# which polynomials do not.
MAIN_DEGREES = (1, 2, 3, 2, 3, *(4,) * 6)
# Prior variance of each coefficient, in units of the noise variance. The lower degrees may be
# large; higher ones are corrections.
MAIN_VARIANCE = (4.0, 2.0, 1.0, 1.0, 0.5, *(0.3,) * 6)
# Interior knots of the splines, as quantiles of the column; each adds one function.
KNOTS = (0.05, 0.2, 0.4, 0.6, 0.8, 0.95)
# Level contrasts of a categorical parent have no order: one variance for all.
CONTRAST_VARIANCE = 2.0
# Joint terms of two parents a, b: the products z_a z_b, z_a u_b², u_a² z_b, then
# tanh(s (v − k)) of v = (u_a + u_b)/√2 and of v = (u_a − u_b)/√2. The latter are the hidden units
# of a network; with them a mechanism such as tanh(a + b) is fitted to below the noise.
PAIR_DEGREES = (2, 3, 3, *(4,) * 8)
PAIR_VARIANCE = (0.25, 0.125, 0.125, *(0.25,) * 8)
RIDGE_CENTRES = (-1.2, -0.4, 0.4, 1.2)
RIDGE_SLOPE = 2.0
# The products among them: all that screening and logistic regressions use, as a label tells less.
N_PRODUCTS = 3
# The product of three parents.
TRIPLE_VARIANCE = 0.1
# The intercept is nearly free.
INTERCEPT_VARIANCE = 1e4


class SiteLevel(NamedTuple):
    """What may differ between sites; variances are in units of the noise variance.

    Three sizes of slopes are tried. If the largest had a prior that is too narrow, an effect whose
    slopes differ by several standard deviations of its noise would be a worse explanation than its
    inverse, whose slopes are bounded: on one of a hundred anti-causal tables (seeds 0 to 99 of
    `make_anticausal_domains`, numbers) an effect was taken for a cause of the label.
    """

    intercept: float  # variance of a site's own intercept
    n_main: int = 0  # features of each parent with coefficients of a site's own
    main: float = 0.0  # their variance, at the first feature
    decay: float = 1.0  # its decay per feature
    pairs: float = 0.0  # variance of a site's own coefficients of joint terms
    along: bool = False  # coefficients move with the site's place on the main axis of the sites


SITE_LEVELS = (
    SiteLevel(0.0),  # the same everywhere
    SiteLevel(1.0),  # intercepts
    SiteLevel(0.1, 1, 0.03),  # slopes that differ little
    SiteLevel(1.0, 1, 0.25),  # slopes
    SiteLevel(4.0, 1, 4.0),  # slopes that differ by more than the noise
    SiteLevel(1.0, 11, 1.0, 0.8, 0.25, along=True),  # all terms, along the axis
    SiteLevel(1.0, 3, 0.5, 0.6, 0.1),  # curves and products
    SiteLevel(1.0, 11, 0.5, 0.8, 0.1),  # any curve
)
# Which of these the columns of `mechanism_shift_` mean, and the level of free slopes.
LEVEL_FREE_SLOPES = 3
SLOPE_LEVELS, SHAPE_LEVELS = (2, 3, 4, 5, 6, 7), (5, 6, 7)
# Levels at which site effects are an approximation as well.
APPROXIMATE_LEVELS = np.array([False, False, False, False, False, True, True, True])
# Noise that differs between sites is tried where it should lose at most this many nats.
NOISE_MARGIN = 3.0
# Pseudo-rows that pull a site's noise variance towards that of all sites.
NOISE_PRIOR_ROWS = 4.0
# Site noise variances are estimated within this factor of their geometric mean.
NOISE_RATIO = 1e3

# Residual variance below this share of the variable's variance is rounding, not noise.
NOISE_FLOOR = 1e-6
# Below this share, coefficients are huge in units of the noise and get a wider prior.
SMALL_NOISE = 0.1
# Bandwidths of residual densities, in units of Silverman's rule: narrow for sharp edges.
BANDWIDTHS = (0.25, 0.5, 1.0)
# Nats that a density other than the normal law has to be worth.
DENSITY_COST = 3.0
# Strata by levels of discrete parents in which residuals may have another density: most of them,
# and rows that each needs.
MAX_STRATA = 8
MIN_STRATUM_ROWS = 50
# Distinct values that a variable needs for a density of its residuals, and for a model on the
# scale of its normal scores.
MIN_DENSITY_VALUES = 30
MIN_NORMAL_SCALE_VALUES = 100
# A model on the normal scale that is this many nats worse is not pursued: the density of its
# residuals does not make up for it. Where residuals on the own scale are normal, that scale is
# right, and the smaller margin holds.
SCALE_MARGIN = 50.0
NORMAL_SCALE_MARGIN = 10.0
# Scales, in standard deviations, at which the tails of a column are folded by asinh before the
# density of the column itself is estimated.
TAIL_SCALES = (0.01, 0.1, 1.0)

# Main features of each parent in a logistic regression: fewer than for numbers.
LOGISTIC_MAIN = 4

# Nats that an edge has to be worth, besides log d: with d variables, about one in d of the pairs
# is joined in a sparse graph.
EDGE_PENALTY = 2.7
# Share of what an approximate mechanism explains that every further parent costs besides. The
# first one costs nothing: a curve and its nearly linear inverse compete on equal terms.
MISFIT = 0.01
# Features of each column in the pairwise screen: linear, curved, skewed.
SCREEN_FEATURES = 3
# Variables that survive the pairwise screen, and candidate parents that forward selection
# keeps of them: at least, at most. Of 16 survivors, six of some 400 true parents were missing at 50
# and 100 variables (development seeds), of 24 four; of 32 two, at five times the time.
SCREEN_SIZE = 24
MIN_CANDIDATES = 4
MAX_CANDIDATES = 8
# Forward selection goes on while the next candidate loses at most this many nats.
CANDIDATE_MARGIN = 10.0
# Degree of the main effects in the forward selection.
SCREEN_DEGREE = 5
# A parent set is scored in full if its estimate by the models of its subsets is at most this many
# nats below the best of them. A parent that does not matter costs some nine nats.
SCREEN_MARGIN = 5.0
# Parent sets up to this size are all scored; larger ones grow from the best `BEAM_WIDTH`.
FULL_SIZE = 2
BEAM_WIDTH = 5
# Besides, for each candidate the best sets without it are grown.
BEAM_WITHOUT = 2
# A set may be this many nats worse than its best subset to be grown.
BEAM_MARGIN = 3.0
# Rounds in which the sets next to those of the best graph are scored, and the columns that are
# tried as further parents of a variable in each.
REFINE_ROUNDS = 4
REFINE_ADDED = 3
# Columns that are tried in the place of each parent of a larger set.
REFINE_EXCHANGED = 2
# Up to this many variables the best order is found by dynamic programming over all subsets.
EXACT_VARIABLES = 14
# Local searches over orders otherwise.
RESTARTS = 30

# The score is a sum over thousands of rows under a model that is only close to the truth: its
# differences are divided by this before they become probabilities. Chosen on simulated graphs
# so that stated probabilities match frequencies (benchmarks/graph_search.py calibration): of 99
# edges said to be .9 and above on development seeds 20 to 23 (d10, author, d5), .99 are there.
TEMPERATURE = 3.0
# The same for the evidence that a mechanism differs between sites, where the parents are given. On
# the same seeds at least .89 of the mechanisms said to differ with .9 and above do
# (benchmarks/graph_search.py shifts).
SHIFT_TEMPERATURE = 2.0
# Order MCMC: sweeps of one proposal per variable, of which the first share is discarded.
MCMC_SWEEPS = 200
MCMC_BURN_IN = 0.25

# Rows per chunk of a pass over the table.
CHUNK_ROWS = 8192
# Feature values of all columns are kept in memory up to this many numbers.
MAX_STORED = 60_000_000
# Numbers in one batch of parent sets.
BATCH_SIZE = 4_000_000
