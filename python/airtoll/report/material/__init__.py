"""What a report is made of: a result with its statistics, rows of the comparison, facts, words and tables of words."""
