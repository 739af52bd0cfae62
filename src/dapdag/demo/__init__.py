"""The demonstration: learn from nine simulated sites, predict at the tenth, show why."""

from dapdag.demo.case import Demo, run_demo
from dapdag.demo.files import write_files
from dapdag.demo.findings import show, summary

__all__ = ["Demo", "run_demo", "show", "summary", "write_files"]
