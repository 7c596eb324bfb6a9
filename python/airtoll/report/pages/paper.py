"""Tables and figures for a paper: a LaTeX table per main metric, and the figures of the main metrics as PDF.

Each table fits the text of an article on A4 or US letter paper. It is a float, or a `longtable` if it is longer than a
page. The tables require the packages booktabs, longtable and array.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from airtoll.durable import make_directory, publish, reporting
from airtoll.report.material import text
from airtoll.report.material.data import ReportData
from airtoll.report.material.grid import Grid
from airtoll.report.pages.figure_files import FONT, write_figures
from airtoll.report.parts import sections

_TEXT_PT: Final = 345.0
"""The width of the text of an article in the class's default size of 10 points."""

_GAP_PT: Final = 6.0  # between columns: twice \tabcolsep
_LINES: Final = 35
"""A table with more lines is a `longtable`: a page has some 55, and a caption takes several."""


def write_paper(data: ReportData, directory: Path, font: str = FONT) -> list[Path]:
    """Write the tables as NAME.tex and the figures of the main metrics as NAME.pdf; return the paths.

    Each file is written atomically. Raises UsageError and AirtollError as `write_figures` does.
    """
    figures = write_figures(data, directory, font, kinds=("pdf",), writer="latex")
    grids = (grid for section in sections(data, "latex")["latex"] for grid in section.grids)
    tables = {f"{grid.name}.tex": latex(grid).encode() for grid in grids}
    with reporting(f"cannot write into {directory}"):
        make_directory(directory.absolute())
        publish(directory, tables)
    return [*figures, *(directory / name for name in tables)]


def latex(grid: Grid) -> str:
    """The table as LaTeX, in several tables if not all of its columns fit the width of the text."""
    parts = list(_that_fit(grid))
    return "\n".join(
        _latex(part, f"tab:{grid.name}{f'-{number}' if number > 1 else ''}")
        for number, part in enumerate(parts, start=1)
    )


def _that_fit(grid: Grid) -> Iterator[Grid]:
    """The table; or its columns of words with as many of its other columns as fit, in turn."""
    least_pt = [max(map(_widest_word_pt, column)) for column in _columns(grid)]
    words = range(grid.words)
    parts: list[list[int]] = [[]]
    for at in range(grid.words, len(grid.columns)):
        if parts[-1] and not _fits([least_pt[column] for column in (*words, *parts[-1], at)]):
            parts.append([])
        parts[-1].append(at)
    for part in parts:
        chosen = [*words, *part]
        columns = tuple(grid.columns[at] for at in chosen)
        yield replace(grid, columns=columns, rows=tuple(tuple(row[at] for at in chosen) for row in grid.rows))


def _fits(widths_pt: Sequence[float]) -> bool:
    return sum(widths_pt) + _GAP_PT * len(widths_pt) <= _TEXT_PT


def _latex(grid: Grid, label: str) -> str:
    natural_pt = [max(map(_width_pt, column)) for column in _columns(grid)]
    widths_pt = natural_pt if _fits(natural_pt) else _wrapped_pt(grid, natural_pt)
    kinds = ["l" if at < grid.words else "r" for at in range(len(grid.columns))]
    if widths_pt is not natural_pt:
        kinds = [
            f">{{\\{_RAGGED[kind]}\\arraybackslash}}p{{{width_pt / _TEXT_PT:.3f}\\linewidth}}"
            for kind, width_pt in zip(kinds, widths_pt, strict=True)
        ]
    line_count = sum(
        max(math.ceil(_width_pt(cell) / width_pt) for cell, width_pt in zip(row, widths_pt, strict=True))
        for row in grid.rows
    )
    head = [f"  \\caption{{{_tex(text.joined(f'{grid.title}.', grid.note))}}}", f"  \\label{{{label}}}"]
    columns, body = _tex_row(grid.columns), [f"    {_tex_row(row)}" for row in grid.rows]
    small = "  \\footnotesize\\setlength{\\tabcolsep}{3pt}"
    if line_count <= _LINES:
        lines = [
            "\\begin{table}",
            *head,
            small,
            f"  \\begin{{tabular}}{{@{{}}{''.join(kinds)}@{{}}}}",
            "    \\toprule",
            f"    {columns}",
            "    \\midrule",
            *body,
            "    \\bottomrule",
            "  \\end{tabular}",
            "\\end{table}",
        ]
    else:
        lines = [
            "{",
            small,
            f"  \\begin{{longtable}}{{@{{}}{''.join(kinds)}@{{}}}}",
            *head,
            "    \\\\",
            *(f"    \\toprule {columns} \\midrule {end}" for end in ("\\endfirsthead", "\\endhead")),
            "    \\bottomrule \\endfoot",
            *body,
            "  \\end{longtable}",
            "}",
        ]
    return "\n".join(lines) + "\n"


_RAGGED: Final = {"l": "raggedright", "r": "raggedleft"}


def _wrapped_pt(grid: Grid, natural_pt: Sequence[float]) -> list[float]:
    """The widths of columns whose cells have several lines: each holds its longest word, and they fit the text.

    Columns whose longest words alone do not fit the text are wider than it.
    """
    least_pt = [max(map(_widest_word_pt, column)) for column in _columns(grid)]
    rest_pt = max(0.0, _TEXT_PT - _GAP_PT * len(least_pt) - sum(least_pt))
    wanted_pt = [natural - least for natural, least in zip(natural_pt, least_pt, strict=True)]
    share = rest_pt / sum(wanted_pt) if rest_pt else 0.0
    return [least + wanted * share for least, wanted in zip(least_pt, wanted_pt, strict=True)]


def _columns(grid: Grid) -> Iterator[tuple[str, ...]]:
    return zip(grid.columns, *grid.rows, strict=True)


def _widest_word_pt(cell: str) -> float:
    return max(map(_width_pt, cell.split(" ")))


def _width_pt(words: str) -> float:
    """The width of text in Computer Modern of 8 points, rather too wide than too narrow."""
    return sum(_CHARACTER_PT.get(character, 6.3 if character.isupper() else 4.6) for character in words)


_CHARACTER_PT: Final = {
    **dict.fromkeys(" .,:;'il|", 3.0),
    **dict.fromkeys("mMwW%@", 7.9),
    **dict.fromkeys((text.MINUS, "+", "<", ">", "=", "\N{PLUS-MINUS SIGN}", "\N{INFINITY}"), 7.3),
}

_TEX: Final = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    text.MINUS: "$-$",
    "\N{PLUS-MINUS SIGN}": r"$\pm$",
    text.MISSING: "--",
    "\N{INFINITY}": r"$\infty$",
    "\N{MICRO SIGN}": r"\textmu{}",
    "\N{DOT OPERATOR}": r"$\cdot$",
    "\N{MIDDLE DOT}": r"$\cdot$",
    "<": "$<$",
    ">": "$>$",
    **{sign: f"$^{digit}$" for sign, digit in zip("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789", strict=True)},
    "⁻": "$^-$",
}


def _tex(words: str) -> str:
    return "".join(_TEX.get(character, character) for character in words)


def _tex_row(cells: Iterable[str]) -> str:
    # LaTeX takes a bracket at the start of a row as an argument of the \\ before it.
    return " & ".join("{}" + _tex(cell) if cell.startswith("[") else _tex(cell) for cell in cells) + r" \\"
