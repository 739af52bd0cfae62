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

from .peers.weights import missing_weights
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
    name : str
        Name for `make`.
    title : str
        Name in tables and figures.
    tasks : tuple of str
        What it can predict.
    needs_target : bool
        `fit` wants the target's rows, without labels.
    kind : {"ours", "paper", "practice", "adaptation", "peers", "site-aware"}
        ``"ours"``; ``"paper"``, what the paper compares with; ``"practice"``, what a user would
        take instead; ``"adaptation"``, shallow methods of scikit-adaptation; ``"peers"``, what
        a user who knows of sites would set up: boosting with random effects, or boosting and TabPFN
        with the sites' moments as columns;
        ``"site-aware"``, others with E of a row's site as columns.
    make : callable
        Builds the estimator.
    packages : tuple of str
        Packages that must be installed beside dapdag's own.
    extra : str
        Which of dapdag's optional dependencies has them.
    """

    name: str
    title: str
    tasks: tuple[Task, ...]
    needs_target: bool
    kind: Kind
    make: Callable[..., Any] = field(repr=False)
    packages: tuple[str, ...] = ()
    extra: str = "bench"

    def lacks(self, task: str) -> str | None:
        """What the method would need to run here.

        Parameters
        ----------
        task : {"regression", "classification"}
            What is predicted.

        Returns
        -------
        str or None
            A sentence; None if the method can run.
        """
        if task not in self.tasks:
            return f"{self.name} is for {' and '.join(self.tasks)}, not for {task}"
        absent = [package for package in self.packages if find_spec(package) is None]
        if absent:
            install = f"pip install 'dapdag[{self.extra}]'"
            return f"{self.name} needs the package {absent[0]}: {install}"
        return missing_weights(task) if self.extra == "foundation" else None


def make(name: str, task: str, *, random_state: int = 0, n_candidates: int = 1) -> Any:
    """An unfitted estimator.

    Parameters
    ----------
    name : str
        One of `METHODS`.
    task : {"regression", "classification"}
        What is predicted.
    random_state : int, default=0
        Seed of the estimator, at least 0.
    n_candidates : int, default=1
        How many hyper-parameters are tried, by holding out source domains, before the best is
        fitted. 1 takes the default without a search; at most `N_CANDIDATES`, for every method.

    Returns
    -------
    estimator
        Unfitted, with scikit-learn's interface.

    Examples
    --------
    >>> from dapdag.baselines import registry
    >>> model = registry.make("linear", "regression")
    >>> hasattr(model, "predict")
    True
    """
    if name not in METHODS:
        raise ValueError(f"unknown method {name!r}; there are {', '.join(METHODS)}")
    return METHODS[name].make(task, random_state=random_state, n_candidates=n_candidates)


def available(task: str, kinds: Collection[str] | str | None = None) -> list[str]:
    """Names of the methods for a task that can run here, perhaps of some kinds only.

    Parameters
    ----------
    task : {"regression", "classification"}
        What is predicted.
    kinds : str or collection of str, optional
        Kinds of `Method` to keep. By default all.

    Returns
    -------
    list of str
        Names for `make`.
    """
    _check_task(task)
    wanted = KINDS if kinds is None else (kinds,) if isinstance(kinds, str) else tuple(kinds)
    if unknown := [kind for kind in wanted if kind not in KINDS]:
        raise ValueError(f"unknown kinds {unknown}; there are {', '.join(KINDS)}")
    return [
        name
        for name, method in METHODS.items()
        if method.kind in wanted and method.lacks(task) is None
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
    extra: str = "bench",
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

    return Method(name, title, tasks, needs_target, kind, build, packages, extra)


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
        **_packages_of(model),
        model=model,
        site_moments=site_moments,
    )


def _packages_of(model: str) -> dict[str, Any]:
    if model == "tabpfn":
        return {"packages": ("torch", "einops"), "extra": "foundation"}
    return {} if model in ("linear", "boosting") else {"packages": (model,), "extra": "boosting"}


def _site_aware(model: str, title: str) -> Method:
    return _method(
        f"{model}-env",
        f"{title} with E",
        "site-aware",
        "dapdag.baselines.site_aware:SiteAware",
        **_packages_of(model),
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
        _peer("tabpfn", "TabPFN"),
        _peer("tabpfn", "TabPFN", site_moments=True),
        _site_aware("linear", "linear"),
        _site_aware("boosting", "gradient boosting"),
        _site_aware("lightgbm", "LightGBM"),
        _site_aware("catboost", "CatBoost"),
        _site_aware("gpboost", "GPBoost"),
        _site_aware("tabpfn", "TabPFN"),
    )
}
