"""Tables in files: read them as they come, check them, give their columns a role, write results.

Every complaint is a ValueError that names the file, the column and the row, and says what to do.
"""

from dapdag.data.limits import MAX_COLUMNS
from dapdag.io.new_rows import NewRows, match_model, read_new_rows
from dapdag.io.reading import Reading, Rows, column_names, read_table, read_tables
from dapdag.io.study import Study, prepare_study
from dapdag.io.writing import check_output, write_table

__all__ = [
    "MAX_COLUMNS",
    "NewRows",
    "Reading",
    "Rows",
    "Study",
    "check_output",
    "column_names",
    "match_model",
    "prepare_study",
    "read_new_rows",
    "read_table",
    "read_tables",
    "write_table",
]
