"""The generated reference pages name every command, option, key and metric."""

import click
from doc_pages import DOCS, text_of
from reference_pages import commands

from airtoll.stats.metrics import METRICS
from airtoll.study.schema import TABLES


def test_every_command_and_option_is_there() -> None:
    page = text_of(DOCS / "reference/command-line.md")
    for words, command in list(commands())[1:]:
        assert f"### {' '.join(words)}\n" in page
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert f"`{parameter.opts[0]}" in page


def test_the_words_of_a_scenario_are_options() -> None:
    page = text_of(DOCS / "reference/command-line.md")
    assert page.count("| `--packet-size BYTES` |") == 2  # of simulate and of model


def test_every_study_key_is_there() -> None:
    page = text_of(DOCS / "reference/study-keys.md")
    for path, model in TABLES.items():
        title = f"[{'.'.join(path)}]" if path else "Top level"
        section = page.split(f"## {title}\n")[1].split("\n## ")[0]
        for name, field in model.model_fields.items():
            if (*path, name) not in TABLES and (*path, name, "NAME") not in TABLES:
                assert f"| `{name}` |" in section
                assert field.description
                assert field.description in section


def test_every_metric_is_there() -> None:
    page = text_of(DOCS / "reference/metrics.md")
    for name, metric in METRICS.items():
        assert f"`{name}`" in page
        assert metric.title in page


def test_help_is_shown_as_it_is_written() -> None:
    page = text_of(DOCS / "reference/command-line.md")
    assert "\\[" not in page
    assert "[quick]" in page
