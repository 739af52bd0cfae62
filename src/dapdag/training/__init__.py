"""The paper's training algorithm, for any number of independent lanes at once."""

from .loop import Plan, TrainingResult, train
from .schedule import Schedule
from .step import State, StepConfig

__all__ = ["Plan", "Schedule", "State", "StepConfig", "TrainingResult", "train"]
