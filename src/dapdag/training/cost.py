"""What a fit will take, from the size of its table: processor time and memory.

The coefficients describe what `benchmarks/cost.py` prints for the default settings on one core,
within a factor of two.
"""

from dataclasses import dataclass

# Seconds of the search for the graph: a constant, and per column.
SEARCH = (0.5, 0.17)
# Seconds of the two trainings at 100 epochs: a constant, and per column.
TRAINING = (1.0, 0.07)
PER_ROW = 1.3e-5  # seconds of reading a row of a long table
EPOCHS = 100
# Seconds of compilation where no earlier fit of this shape has left its programs on disk.
COMPILATION = (14.0, 0.02)
# Bytes: of the program, per cell of the rows that are in memory for training (of a long table not
# all of them are), and per cell of the table (text of 1 GB took 12.3 GB).
MEMORY = (0.72 * 2**30, 2200.0, 60.0)
TRAINED_ROWS = 5_000


@dataclass(frozen=True)
class Cost:
    """Seconds of processor time, those of compilation the first time, and bytes of memory."""

    seconds: float
    compilation: float
    memory: float


def expected_cost(rows: int, columns: int, epochs: int = EPOCHS, searched: bool = True) -> Cost:
    """What a fit of this many rows and columns will take, compiled and not."""
    search = SEARCH[0] + SEARCH[1] * columns if searched else 0.0
    training = (TRAINING[0] + TRAINING[1] * columns) * epochs / EPOCHS
    return Cost(
        seconds=search + training + PER_ROW * rows,
        compilation=COMPILATION[0] + COMPILATION[1] * columns,
        memory=MEMORY[0] + (MEMORY[1] * min(rows, TRAINED_ROWS) + MEMORY[2] * rows) * columns,
    )
