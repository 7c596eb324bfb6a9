"""The files of a report: all parts in order, as HTML, Markdown, CSV, SVG, PDF, LaTeX and OpenMetrics."""
