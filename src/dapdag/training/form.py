"""What a method consists of. The baselines on our network are DAPDAG with pieces taken out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..data.sample import Sample


@dataclass(frozen=True)
class Form:
    """The pieces of a method.

    Attributes
    ----------
    environment : an encoder infers E, and decoder and label networks see it.
    decoder : every variable is reconstructed from its parents, on a graph.
    exact_graph : the graph is read off during training and masks the decoder's filters; else a
        penalty on cycles is all that makes it acyclic.
    label_networks : the label has networks of its own, which see all features; else it is
        predicted through its own structural filter.
    stacking : beside the label networks with E there are pooled ones; weights estimated on
        left-out sources combine them.
    """

    environment: bool
    decoder: bool
    exact_graph: bool
    label_networks: bool
    stacking: bool

    def for_samples(self, samples: Sequence[Sample], n_predictors: int) -> "Form":
        """The pieces that these samples can support.

        With one domain the effect of E cannot be learned; without E, or with one network, there
        is nothing to stack.
        """
        environment = self.environment and all(len(s.domain_labels) > 1 for s in samples)
        stacking = self.stacking and environment and n_predictors > 1
        return replace(self, environment=environment, stacking=stacking)


DAPDAG = Form(environment=True, decoder=True, exact_graph=True, label_networks=True, stacking=True)
PAPER = replace(DAPDAG, exact_graph=False, label_networks=False, stacking=False)
CASTLE = replace(PAPER, environment=False)
# Without a graph none is read off on the way: the best weights may come from any epoch.
BRM = replace(DAPDAG, decoder=False, exact_graph=False, stacking=False)
MLP = replace(BRM, environment=False)
