"""The parts of a report, one module each: sentences, tables and figures of one subject."""
