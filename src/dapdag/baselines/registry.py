"""Every method that can be compared, by name, with one budget for the search of each.

    from dapdag.baselines import registry

    registry.available("regression")
    model = registry.make("lightgbm", "regression", n_candidates=4)
    model.fit(X, y, sample_domain)  # negative integers mark the unlabelled target's rows
    model.predict(X_target)

Nothing of a method is imported before `make` is asked for it.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

from .search.grids import N_CANDIDATES, grid_of

Task = Literal["regression", "classification"]
Kind = Literal["ours", "paper", "practice", "adaptation", "peers", "site-aware"]
TASKS: tuple[Task, ...] = ("regression", "classification")
KINDS: tuple[Kind, ...] = ("ours", "paper", "practice", "adaptation", "peers", "site-aware")


@dataclass(frozen=True)
class Method:
    """One method: ``method.make(task, random_state=0, n_candidates=1)`` builds its estimator.

    Attributes
    ----------
    kind : ``"ours"``; ``"paper"``, what the paper compares with; ``"practice"``, what a user would
        take instead; ``"adaptation"``, shallow methods of scikit-adaptation; ``"peers"``, boosting
        by a user who knows of sites: with random effects, or with the sites' moments as columns;
        ``"site-aware"``, others with E of a row's site as columns.
    needs_target : `fit` wants the target's rows, without labels.
    packages : that must be installed beside dapdag's own.
    """

    name: str
    title: str
    tasks: tuple[Task, ...]
    needs_target: bool
    kind: Kind
    make: Callable[..., Any] = field(repr=False)
    packages: tuple[str, ...] = ()

    @property
    def is_installed(self) -> bool:
        return all(find_spec(package) is not None for package in self.packages)


def make(name: str, task: str, *, random_state: int = 0, n_candidates: int = 1) -> Any:
    """An unfitted estimator.

    Parameters
    ----------
    name : one of `METHODS`
    task : ``"regression"`` or ``"classification"``
    random_state : seed of the estimator
    n_candidates : how many hyper-parameters are tried, by holding out source domains, before the
        best is fitted. 1 takes the default without a search; at most `N_CANDIDATES`, for every
        method.
    """
    if name not in METHODS:
        raise ValueError(f"unknown method {name!r}; there are {', '.join(METHODS)}")
    return METHODS[name].make(task, random_state=random_state, n_candidates=n_candidates)


def available(task: str, kinds: Collection[str] | str | None = None) -> list[str]:
    """Names of the methods for a task whose packages are installed, perhaps of some kinds only."""
    _check_task(task)
    wanted = KINDS if kinds is None else (kinds,) if isinstance(kinds, str) else tuple(kinds)
    if unknown := [kind for kind in wanted if kind not in KINDS]:
        raise ValueError(f"unknown kinds {unknown}; there are {', '.join(KINDS)}")
    return [
        name
        for name, method in METHODS.items()
        if task in method.tasks and method.kind in wanted and method.is_installed
    ]


def _method(
    name: str,
    title: str,
    kind: Kind,
    home: str,
    *,
    needs_target: bool = False,
    tasks: tuple[Task, ...] = TASKS,
    packages: tuple[str, ...] = (),
    **parameters: Any,
) -> Method:
    """`home` is the module and the start of the class's name: ``dapdag.estimators:DAPDAG``."""

    def build(task: str, *, random_state: int = 0, n_candidates: int = 1) -> Any:
        _check_task(task)
        if task not in tasks:
            raise ValueError(f"the method {name!r} is for {' and '.join(tasks)}, not for {task}")
        if not 1 <= n_candidates <= N_CANDIDATES:
            raise ValueError(
                f"n_candidates must lie between 1 and {N_CANDIDATES}, got {n_candidates!r}"
            )
        module, stem = home.split(":")
        ending = "Regressor" if task == "regression" else "Classifier"
        estimator = getattr(import_module(module), stem + ending)(
            random_state=random_state, **parameters
        )
        if n_candidates == 1:
            return estimator
        search = getattr(import_module("dapdag.baselines.search.search"), "DomainSearch" + ending)
        return search(
            estimator=estimator,
            candidates=grid_of(name, task)[:n_candidates],
            random_state=random_state,
        )

    return Method(name, title, tasks, needs_target, kind, build, packages)


def _check_task(task: str) -> None:
    if task not in TASKS:
        raise ValueError(f"task must be 'regression' or 'classification', got {task!r}")


def _papers_form(name: str, title: str, bayesian: bool) -> Method:
    """The paper's system: the graph by gradient descent, the label through its own filter."""
    home = "dapdag.estimators:DAPDAG"
    return _method(name, title, "ours", home, bayesian=bayesian, structure="paper")


def _practice(name: str, title: str, packages: tuple[str, ...] = ()) -> Method:
    home = "dapdag.baselines.pooled.estimators:Practice"
    return _method(name, title, "practice", home, packages=packages, model=name)


def _skada(method: str, title: str, tasks: tuple[Task, ...] = TASKS) -> Method:
    return _method(
        f"skada-{method}",
        title,
        "adaptation",
        "dapdag.baselines.skada:Skada",
        needs_target=True,
        tasks=tasks,
        packages=("skada",),
        method=method,
    )


def _peer(model: str, title: str, site_moments: bool = False) -> Method:
    return _method(
        f"{model}-sites" if site_moments else model,
        f"{title} with site moments" if site_moments else title,
        "peers",
        "dapdag.baselines.peers.estimators:Peer",
        packages=(model,),
        model=model,
        site_moments=site_moments,
    )


def _site_aware(model: str, title: str, packages: tuple[str, ...] = ()) -> Method:
    return _method(
        f"{model}-env",
        f"{title} with E",
        "site-aware",
        "dapdag.baselines.site_aware:SiteAware",
        packages=packages,
        estimator=model,
    )


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        _method("dapdag", "DAPDAG", "ours", "dapdag.estimators:DAPDAG", bayesian=False),
        _method("dapdag-b", "DAPDAG-B", "ours", "dapdag.estimators:DAPDAG", bayesian=True),
        _papers_form("dapdag-paper", "DAPDAG (paper's form)", bayesian=False),
        _papers_form("dapdag-b-paper", "DAPDAG-B (paper's form)", bayesian=True),
        _method("mlp", "MLP", "paper", "dapdag.baselines:MLP"),
        _method("castle", "CASTLE", "paper", "dapdag.baselines:CASTLE"),
        _method("brm", "BRM", "paper", "dapdag.baselines:BRM"),
        _method("mdan", "MDAN", "paper", "dapdag.baselines:MDAN", needs_target=True),
        _method(
            "mdan-hard",
            "MDAN (hard)",
            "paper",
            "dapdag.baselines:MDAN",
            needs_target=True,
            mode="hard",
        ),
        _method(
            "missforest",
            "MissForest",
            "paper",
            "dapdag.baselines:MissForest",
            needs_target=True,
        ),
        _method(
            "dainfer",
            "DA-Infer",
            "paper",
            "dapdag.baselines:DAInfer",
            needs_target=True,
            packages=("causallearn", "optax"),
        ),
        _practice("boosting", "gradient boosting"),
        _practice("lightgbm", "LightGBM", ("lightgbm",)),
        _practice("forest", "random forest"),
        _practice("linear", "linear"),
        _skada("coral", "CORAL"),
        _skada("monge", "Monge alignment"),
        _skada("subspace", "subspace alignment"),
        _skada("reweight", "reweighting"),
        _skada("jcpot", "JCPOT", ("classification",)),
        _peer("lightgbm", "LightGBM", site_moments=True),
        _peer("catboost", "CatBoost"),
        _peer("catboost", "CatBoost", site_moments=True),
        _peer("gpboost", "GPBoost"),
        _peer("gpboost", "GPBoost", site_moments=True),
        _site_aware("linear", "linear"),
        _site_aware("boosting", "gradient boosting"),
        _site_aware("lightgbm", "LightGBM", ("lightgbm",)),
    )
}
