"""Score-based causal graph search over several sites.

Importing this package loads NumPy, SciPy, pandas, networkx and scikit-learn, but not JAX.
"""

from dapdag.structure.search import GraphSearch
from dapdag.structure.summary import Statistics, summarise

__all__ = ["GraphSearch", "Statistics", "summarise"]
