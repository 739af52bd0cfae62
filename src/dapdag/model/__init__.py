"""The model: a deep-set Bayesian encoder of the environment and a DAG decoder of every variable.

Nothing here knows tables, files or estimators: arrays in, arrays out.
"""

from .acyclicity import log_det, trace_exp
from .decoder import Decoder, ParentMask
from .encoder import Encoder, Posterior, Summary
from .label import LabelNetworks
from .layout import Layout
from .likelihoods import LIKELIHOODS, Bernoulli, Categorical, Gaussian
from .network import Network, Sizes

__all__ = [
    "LIKELIHOODS",
    "Bernoulli",
    "Categorical",
    "Decoder",
    "Encoder",
    "Gaussian",
    "LabelNetworks",
    "Layout",
    "Network",
    "ParentMask",
    "Posterior",
    "Sizes",
    "Summary",
    "log_det",
    "trace_exp",
]
