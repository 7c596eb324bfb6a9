"""Text from users and files is printed verbatim, including brackets."""

from pathlib import Path

from cli_command import SMALL_STUDY, Airtoll


def test_paths_and_titles_with_brackets_are_printed_whole(airtoll: Airtoll, tmp_path: Path) -> None:
    (tmp_path / "[red]x.toml").write_text(SMALL_STUDY.replace('"Small"', '"[b]Small"'))
    done = airtoll("run", "[red]x.toml", "--lab", "sim", "--out", "of [link]/[bold]")
    assert done.returncode == 0, done.stderr
    out = tmp_path / "of [link]/[bold]"
    assert "[red]x: 4 of 4 runs, into of [link]/[bold]" in done.stdout
    assert f"report: {out.relative_to(tmp_path) / 'report.html'}" in done.stdout
    assert done.stdout.count("[red]x") == 2  # the head and the table's title
    report = airtoll("report", out)
    assert str(out / "report.html") in report.stdout
    assert f"{out}: no problems" in airtoll("verify", out).stdout
    refused = airtoll("run", "[red]x.toml", "--lab", "sim", "--out", "of [link]/[bold]")
    assert "of [link]/[bold] exists" in refused.stderr


def test_a_sweep_with_brackets_in_its_title_and_path(airtoll: Airtoll, tmp_path: Path) -> None:
    (tmp_path / "grid.toml").write_text('title = "[red]Some"\nseed = "1..2"\nduration = "0.1 s"\n')
    done = airtoll("sweep", "grid.toml", "--out", "[t].parquet")
    assert done.returncode == 0, done.stderr
    assert "[red]Some: 2 cells" in done.stderr
    assert "into [t].parquet" in done.stderr
