"""The model: a deep-set Bayesian encoder of the environment and a DAG decoder of every variable.

Nothing here knows tables, files or estimators: arrays in, arrays out.
"""

from .acyclicity import log_det, trace_exp
from .decoder import Decoder, ParentMask
from .encoder import Encoder, Posterior, Summary
from .layout import Layout
from .likelihoods import LIKELIHOODS, Bernoulli, Categorical, Gaussian
from .network import Network, Sizes
from .predictor import Predictor

__all__ = [
    "LIKELIHOODS",
    "Bernoulli",
    "Categorical",
    "Decoder",
    "Encoder",
    "Gaussian",
    "Layout",
    "Network",
    "ParentMask",
    "Posterior",
    "Predictor",
    "Sizes",
    "Summary",
    "log_det",
    "trace_exp",
]
