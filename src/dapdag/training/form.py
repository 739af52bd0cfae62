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
    graph_first : the graph is found or given before training, the decoder is trained on it, and
        the label's experts after that; else everything is trained at once, and a penalty on cycles
        is all that makes the graph acyclic.
    label_networks : the label has networks of its own, which see all features; else it is
        predicted through its own structural filter.
    stacking : several experts predict the label; weights estimated on left-out sources combine
        them.
    """

    environment: bool
    decoder: bool
    graph_first: bool
    label_networks: bool
    stacking: bool

    def for_samples(self, samples: Sequence[Sample]) -> "Form":
        """The pieces that these samples can support.

        With one domain the effect of E cannot be learned, and no source can be left out.
        """
        environment = self.environment and all(len(s.domain_labels) > 1 for s in samples)
        stacking = self.stacking and environment and all(s.n_sources > 1 for s in samples)
        return replace(self, environment=environment, stacking=stacking)


DAPDAG = Form(environment=True, decoder=True, graph_first=True, label_networks=True, stacking=True)
PAPER = replace(DAPDAG, graph_first=False, label_networks=False, stacking=False)
CASTLE = replace(PAPER, environment=False)
BRM = replace(DAPDAG, decoder=False, graph_first=False, stacking=False)
MLP = replace(BRM, environment=False)
