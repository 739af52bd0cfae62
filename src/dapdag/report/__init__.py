"""One self-contained HTML file about a model and what it says of a new table."""

from dapdag.report.checklist import tripod_table
from dapdag.report.page import report_html, write_report

__all__ = ["report_html", "tripod_table", "write_report"]
