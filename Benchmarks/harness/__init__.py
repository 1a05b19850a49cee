"""What `run.py` is made of: the table of rows, how programs are started and measured, and how results are shown."""
