"""The content of a report: a result with its statistics, rows of the comparison, facts, text and tables of text."""
