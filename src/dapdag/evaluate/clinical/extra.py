"""Packages of the extra `clinical`, imported when they are needed."""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

PACKAGES = ("statsmodels", "patsy", "meta_analyze", "dcurves")
INSTALL = 'pip install "dapdag[clinical]"'


def clinical_is_installed() -> bool:
    return all(find_spec(package) is not None for package in PACKAGES)


def clinical(module: str) -> ModuleType:
    """A module of these packages, or how to install them."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise ValueError(
            f"confidence intervals, meta-analysis and decision curves need the package "
            f"{module.partition('.')[0]}: {INSTALL}"
        ) from error
