"""The parts of `run.py`: the table of rows, the start and measurement of programs, and the output of results."""
