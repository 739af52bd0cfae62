"""Every constant of the method that is not a parameter of the estimators, with its reason.

"Measured by" names the command that shows what the constant, or the mechanism that it belongs to,
is worth; `benchmarks/parts.py NAME` stands for `python benchmarks/parts.py --parts NAME`, whose
table is docs/results/parts.md. "Not measured" means just that. Defaults of the public parameters
stand in `training/settings.py` (docs/defaults.md), sizes of chunks and buffers beside the code that
streams.
"""

import numpy as np

# Columns.

# Quantiles of a numeric column that its map to normal scores is interpolated between.
# Not measured: enough for the map to follow any distribution of a few thousand rows.
N_KNOTS = 257
# Values of a column, evenly spaced over its rows, that the map is learned from at most. The
# standard error of a quantile's rank is below .001 then. Not measured.
MOST_RANKED = 2**18
# Values outside these quantiles are no knots: single outliers must not shape the map. Not measured.
TAIL = 0.01
# One more knot at either end, this far out in normal scores; cells farther out are clipped to it.
# Not measured.
TAIL_REACH = 1.0
# Up to so many columns a product with the one-hot matrix of their variables is faster than an
# indexed sum, which is linear in the columns. Not measured.
NARROW_COLUMNS = 64
# Levels of a categorical column with an input of their own; the rest share one. Not measured.
MOST_LEVELS = 30
# In columns of more than RARE_BELOW rows, levels of fewer than RARE_ROWS rows count as rare.
# Not measured.
RARE_ROWS, RARE_BELOW = 3, 50

# The graph.

# Rows that a fit gives to the search at most, an equal share of every source, and sources: those
# with the most rows. The time of the search grows with either. Not measured.
SEARCH_ROWS, SEARCH_SOURCES = 2**18, 128

# Networks.

# Rows start out nearly uninformative about E: the first posteriors are wide, and the decoder is not
# driven by an untrained encoder. Not measured.
INITIAL_PRECISION_OFFSET = -4.0
# Initial scale of filters and of the weights of E, relative to 1/√hidden: no edge, and no effect
# of E, is assumed before the data ask for it. Not measured.
INITIAL_FILTER_SCALE = 0.3
# The noise scale of a standardised variable stays above exp(-2.5) = 0.08: below that a few cells
# that are nearly a function of others dominate the sum over variables. Not measured.
MIN_LOG_SCALE = -2.5

# A probability below this counts as this in a log-loss: one row must not decide about an epoch.
LEAST_PROBABILITY = 1e-6

# Optimisation.

# Adam's usual constants (Kingma and Ba 2015).
FIRST_DECAY, SECOND_DECAY, EPSILON = 0.9, 0.999, 1e-8
# Gradients of encoder and of the rest are each clipped to this norm. Not measured.
MAX_GRADIENT_NORM = 5.0
# Steps of the exponential moving average of the weights that is validated and kept: single steps
# on a few rows of one domain vary too much for the validation loss to tell epochs apart.
# Measured by: benchmarks/parts.py weight_average.
AVERAGE_STEPS = 200.0
# The learning rate falls along a cosine to this share of its start. Not measured.
FINAL_RATE = 0.02
# Learning-rate multiplier of the label networks. Classes at a higher rate end overconfident.
# Measured by: benchmarks/parts.py label_rate.
LABEL_RATE = {"continuous": 4.0, "binary": 1.0, "categorical": 1.0}
# Rows of a batch at most, the smallest random batch as a share of that, and the rows of it that
# the decoder reconstructs (an unbiased, cheaper estimate of the mean). Not measured.
MAX_BATCH_ROWS, SMALLEST_BATCH, DECODER_ROWS = 128, 0.25, 64
# Steps of an epoch: enough for small tables to converge, and not more for large ones than their
# networks use. Measured by: benchmarks/parts.py min_steps.
FEWEST_STEPS, MOST_STEPS = 16, 64

# Size of what a lane holds.

# Cells of the training rows that a lane holds at most, 320 MiB with the marks of observed ones; and
# never more rows than its epochs can draw. Larger tables give an equal share of every site.
MOST_CELLS = 2**26
# Validation rows of a lane, in all, and of a site where the rows of all sites would be too many. An
# epoch of training draws 8,192 rows. Not measured.
MOST_VALID_ROWS, FEWEST_VALID_ROWS = 16_384, 32

# Schedule, in shares of the epochs.

# Paper's form: the acyclicity penalty grows linearly to its weight over the first 30 %, then
# geometrically by the factor 30 until the end. Early stopping counts from the 30 % on in all forms.
# Not measured.
PENALTY_RAMP, PENALTY_GROWTH = 0.3, 30.0

# Left-out sources and the combination of experts.

# A network that leaves sources out leaves one in this many. Not measured: the fewer are left out,
# the more these networks resemble those that predict.
FOLDS = 8
# Rows of a left-out source that its loss is computed on. Not measured: a mean over 512 rows.
LEFT_OUT_ROWS = 512
# Sources that the experts are compared on at most, evenly spaced. Not measured: with 128 losses the
# standard error of their mean is a tenth of their spread.
LEFT_OUT_SOURCES = 128
# Weights of the experts are multiples of 1 / this.
# Measured by: benchmarks/parts.py stacking_weight.
STACK_STEPS = 10
# The loss difference d of a single source counts as c tanh(d / c), less than this c.
# Measured by: benchmarks/parts.py source_cap.
MAX_SOURCE_GAIN = 0.5

# Inference on the graph. Measured together by: benchmarks/parts.py graph_inference, site_effects.

# Weights of the children's evidence that are compared on left-out sources; the last leaves the
# label's parents alone. Labels that features determine weakly need less than 1.
TEMPERATURES = (1.0, 0.5, 0.25, 0.0)
# Values of a number at which mechanisms are evaluated, and after linear interpolation; the grid
# extends this many standard deviations beyond the labels of the sources.
GRID_POINTS, GRID_REFINED, GRID_MARGIN = 17, 49, 0.75
# Rows of a site from which its effects are estimated: their errors are small by then.
EFFECT_ROWS = 512
# Degrees of freedom of the effects' distribution, and factor on their variance between sources: a
# new site may differ from all of them.
EFFECT_DOF, EFFECT_INFLATION = 3.0, 4.0
# Least standard deviation of an effect between sites.
EFFECT_FLOOR = 1e-2
# Pseudo-rows of the weak prior under which a source's effects are estimated, and pseudo-rows with
# the sources' noise at a new site.
EFFECT_RIDGE, NOISE_PRIOR_ROWS = 3.0, 20.0
# Noise variance of a standardised variable that counts as rounding.
LEAST_NOISE = 1e-3
# EM ends when the log-likelihood per row changes by less, or after so many steps.
EM_STEPS, EM_TOLERANCE = 60, 1e-4
# Two experts contradict each other at a site when 1 − their correlation exceeds its largest value
# over left-out sources by this factor and margin. Measured by: benchmarks/parts.py referee.
DISAGREEMENT = 3.0, 0.02
# Complete rows of a site that this takes: a correlation over fewer says little. Not measured.
REFEREE_ROWS = 30

# An effect of the label has turned where it is negative beyond this one-sided level of chance. Not
# measured: the usual level.
TURNED = 0.05

# Held-out rows.

# With fewer residuals the learned noise scale is kept. Not measured.
FEWEST_RESIDUALS = 30
# Training rows of a domain from which its E is inferred beside its validation rows. Not measured.
HELDOUT_ENV_ROWS = 1024
# Rows × features of the evaluation with each feature hidden in turn: of wide tables, or of many
# domains, fewer rows take part. Not measured.
HELDOUT_CELLS = 2**20
# Slopes of the logits that are tried for rows with a missing feature, and the fewest held-out rows
# to try them on. Measured by: benchmarks/parts.py missing_cost.
MISSING_SLOPES, FEWEST_MISSING_ROWS = np.linspace(0.2, 1.0, 17), 30
# A missing feature's importance is a share of the error, which may be 0.
LEAST_ERROR = 1e-6

# Level of the label at a new site.

# Pseudo-rows like those of the sources that a site's mean or class proportions are smoothed by.
# Measured (with the next) by: benchmarks/parts.py site_slope.
LEVEL_ROWS = 50
# Standard deviation of the prior N(1, ·) of the slope of observed on predicted levels.
SLOPE_PRIOR_SD = 0.5
# Steps of the fixed point that solves for the offset of the logits. Not measured.
OFFSET_STEPS = 20
LEAST_PROPORTION = 1e-6
# Bins of predictions in which the size of left-out errors is compared, with equal numbers of rows,
# and pseudo-rows of usual errors in each. Measured by: benchmarks/intervals.py.
NOISE_BINS, NOISE_BIN_ROWS = 8, 50
# Coverages for which the width of intervals is compared with Student's t, and the largest factor on
# it, up or down. Measured by: benchmarks/intervals.py (the factor's limit was not).
NOISE_LEVELS, MOST_WIDENING = (0.5, 0.8, 0.9, 0.95, 0.99), 2.0

# Rows of a site that are kept once it is adapted to: what follows from its rows beside the
# encoder's sums is computed on these. Not measured: more than any of the limits above and below.
SITE_ROWS = 4096
# Share of the rows of a part that are equal to others, above which parts are sampled independently
# and not by content. Copies of a row in a site of N rows in parts of n are then at most about
# 2 N MOST_EQUAL / n: 3 for 100,000,000 rows in parts of 65,536. Not measured.
MOST_EQUAL = 0.001

# Some labels of a new site. Measured together by: benchmarks/labels.py.

# Variance between sites of the intercept and of the slope of predictions on the scale of the link
# (standard deviations of the label; log-odds) that counts like that many left-out sources: so few
# that sources soon outweigh it, and enough that one or two do not claim that all are alike.
# Measured by: benchmarks/sites.py means.
VARIATION_PRIOR = {"numbers": (0.02, 0.04), "classes": (0.1, 0.04)}
VARIATION_SOURCES = 2
# Drawn labels from which the expected score of a site is computed, and the variance between sites
# of a score's error (of log-odds of AUC, of logarithms of the others) that counts like that many
# left-out sources. Measured by: benchmarks/sites.py scores.
SCORE_DRAWS, SCORE_SOURCES, SCORE_VARIATION = 200, 2, 0.01
# An AUC is clipped to this distance from 0 and 1: farther out its log-odds say nothing.
# Not measured.
AUC_ENDS = 1e-3
# Nats that a change of the experts' weights by 1 costs: what the left-out sources count for.
WEIGHT_PRIOR = 10.0
# Labels from which a site's own fit is tried, folds that judge it, random Fourier features beside
# the linear ones, and variances of the function that are tried. Of these eight fits one must lower
# the held-out loss by this many standard errors. Measured by: benchmarks/labels.py.
FEWEST_OWN, OWN_FOLDS, OWN_FUNCTIONS, OWN_ERRORS = 50, 5, 128, 2.0
OWN_SPREADS = (0.01, 0.1, 1.0, 10.0)

# Probabilities closer than this to 0 or 1 count as if they were there when their variance is put
# on the scale of log-odds, which is not linear in them over their spread. Not measured.
LINEAR = 0.02
# `label_bounds="auto"`: labels that go on below 0 would put about as many just below it as just
# above. With so many within a tenth of a standard deviation above 0 the chance of none below is
# 2⁻²⁰. Not measured.
NEAR_ZERO, ENOUGH_NEAR = 0.1, 20

# E at a new site.

# A posterior whose standard deviation is below this share of the spread of the sources' E adds no
# visible variance to the label: its mean replaces it. Measured by: benchmarks/parts.py narrow_mean.
NARROW = 0.02
# E is clipped to the sources' range, extended by this many ranges on either side.
# Measured by: benchmarks/parts.py env_clipping.
CLIP_RANGES = 2.0
# Rows and grid points of the maximum a posteriori of E outside the sources' range.
# Measured by: benchmarks/parts.py map_refinement.
REFINE_ROWS, REFINE_POINTS = 1024, 51

# Novelty.

# Probability with which E must lie outside the sources' range for its site to count as outside:
# few rows leave it open. Not measured; see tests/test_inference_novelty.py.
SURELY_OUTSIDE = 0.95
# A feature is out of distribution where its cells are less likely than in the worst source by this
# much (natural logarithm, mean per cell). Not measured; see tests/test_inference_novelty.py.
NOVEL_ABOVE = 1.0
# Pseudo-rows without surprise that few rows are smoothed by, and the rows it is computed on.
NOVELTY_PSEUDO_ROWS, NOVELTY_ROWS = 10, 1024

# Missing cells and the graph.

# Candidate values of a missing number, standardised, and sweeps over the variables. Not measured.
IMPUTE_GRID, IMPUTE_SWEEPS = np.linspace(-2.5, 2.5, 16), 3
# Rows of the sources over which edge strengths are averaged. Not measured.
STRENGTH_ROWS = 256

# Why a site differs, and whether it has moved.

# Parts of a difference whose orders are all gone through; of more parts orders are drawn at random:
# the sum stays exact, each part has an error. Not measured: 2⁷ predictions.
EXACT_PARTS, DIFFERENCE_ORDERS = 7, 64
# Rows of a site that are scored, and bootstrap samples of them. Not measured.
DIFFERENCE_ROWS, DIFFERENCE_RESAMPLES = 512, 200
# Permutations of the times of rows, and level of the test whether a site has moved. The p-value has
# a standard error of .01 at the level. Measured by: benchmarks/sites.py drift.
TRACK_PERMUTATIONS, TRACK_LEVEL = 499, 0.05
# Rows that take part in that test: more are thinned out evenly in time. Not measured.
TRACK_ROWS = 20_000
# Rows of a period, and how many periods there are at least and at most. Not measured.
PERIOD_ROWS, FEWEST_PERIODS, MOST_PERIODS = 100, 2, 12
