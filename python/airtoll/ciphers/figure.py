"""A figure of speed over payload size, with one small panel per suite, in the style of the reports."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt

from airtoll import extras
from airtoll.ciphers.parts import STANDARD, SUITES, printed_lanes
from airtoll.ciphers.speed import ONE_BY_ONE, USUAL, ProtectionMode, SpeedMeasurement, Speeds

_SERIES = {"airtoll": "airtoll", "openssl": "OpenSSL", "ipsec-mb": "libipsec-mb"}
_LIMIT = "limit of the AES unit"
_STANDARD = "airtoll on ccmp"
# The report's colours of ccmp, open and tkip; grey for the limit, which is not measured.
_COLOURS = {
    "airtoll": "#123f7a",
    "OpenSSL": "#c27a00",
    "libipsec-mb": "#a13d63",
    _STANDARD: "#7fa3d1",
    _LIMIT: "#808a94",
}
_DASHES = [4, 3]
_SHAPES = {"airtoll": "circle", "OpenSSL": "square", "libipsec-mb": "triangle-up"}
_INK, _MUTED, _LINE, _PAPER = "#16202b", "#566372", "#d5dbe1", "#ffffff"
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
_COLUMNS = 4
_PANEL = {"width": 185, "height": 150}
_TICKS_GBIT_PER_S = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500]
_TICKS_B = [64, 256, 1024, 4096]


def write_figure(speeds: Speeds, path: Path) -> None:
    """Write the figure to a file; the suffix selects the format."""
    vl_convert = extras.require("figures", "--figure")
    spec = _spec(speeds)
    match path.suffix:
        case ".svg":
            path.write_text(vl_convert.vegalite_to_svg(spec), encoding="utf-8")
        case ".png":
            path.write_bytes(vl_convert.vegalite_to_png(spec, scale=2))
        case _:
            path.write_text(vl_convert.vegalite_to_html(spec, bundle=True), encoding="utf-8")


def _spec(speeds: Speeds) -> dict[str, Any]:
    suites = list(dict.fromkeys(m.suite for m in speeds.measurements))
    standard = [suite for suite in suites if printed_lanes(suite) is None]
    enhanced = [suite for suite in suites if printed_lanes(suite) is not None]
    enhanced = [suite for suite in enhanced if SUITES[suite].lanes != 1] or enhanced  # one lane is CCMP
    panels: list[tuple[ProtectionMode, list[str], str]] = []
    if standard:
        panels.append((USUAL, standard, f"Sealing {USUAL.batch} frames at a time, one key"))
    if enhanced:
        # Lanes speed up single frames, so they are compared with CCMP one frame at a time.
        beside = [suite for suite in standard if suite == STANDARD]
        panels.append((ONE_BY_ONE, beside + enhanced, "Sealing one frame at a time"))
    rows = [_block_rows(speeds, way, shown) for way, shown, _ in panels]
    everything = [row for block in rows for row in block]
    present = [name for name in _COLOURS if any(row["series"] == name for row in everything)]
    values = [row["value"] for row in everything]
    domain = [min(values) / 1.15, max(values) * 1.15] if values else [1, 10]
    blocks = [
        _block(block, shown, title, present, domain)
        for block, (_, shown, title) in zip(rows, panels, strict=True)
    ]
    clock = "" if speeds.host.ghz is None else f" at {speeds.host.ghz:.2f} GHz"
    chart = (
        alt.vconcat(*blocks, spacing=34)
        .resolve_scale(color="shared", shape="shared")
        .properties(
            title=alt.TitleParams(
                "Payload protected by one core",
                subtitle=f"Gbit/s over payload size in bytes, both logarithmic. {speeds.host.cpu_model or ''}{clock}, "
                f"backend {speeds.host.backend}. Medians; bars: quartiles.",
                fontSize=17,
                subtitlePadding=6,
                offset=18,
                anchor="start",
            )
        )
        .configure(
            background=_PAPER,
            font=_FONT,
            padding=20,
        )
        .configure_view(stroke=None)
        .configure_axis(
            domainColor=_LINE,
            gridColor=_LINE,
            tickColor=_LINE,
            labelColor=_MUTED,
            titleColor=_MUTED,
            titleFontWeight="normal",
            labelFontSize=11,
            titleFontSize=11,
            gridOpacity=0.6,
        )
        .configure_title(color=_INK, subtitleColor=_MUTED, fontWeight=600, subtitleFontSize=12)
        .configure_header(labelColor=_INK, labelFontSize=12, labelFontWeight=600, labelAnchor="start")
        .configure_legend(
            labelColor=_MUTED,
            orient="top",
            direction="horizontal",
            labelFontSize=12,
            symbolSize=70,
            symbolStrokeWidth=2,
        )
    )
    spec: dict[str, Any] = chart.to_dict()
    return spec


def _block_rows(speeds: Speeds, way: ProtectionMode, suites: Sequence[str]) -> list[dict[str, Any]]:
    shown = [
        m
        for m in speeds.measurements
        if m.way == way and m.suite in suites and m.size_b is not None and m.implementation in _SERIES
    ]
    rows = [row for m in shown for row in _rows(m)]
    if way == ONE_BY_ONE:
        ours = [m for m in shown if m.suite == STANDARD and m.implementation == "airtoll"]
        others = [suite for suite in suites if suite != STANDARD]
        rows += [_row(m, _STANDARD, m.gbit_per_s, suite=suite) for m in ours for suite in others]
    return rows


def _block(
    rows: list[dict[str, Any]], suites: Sequence[str], title: str, present: list[str], domain: list[float]
) -> Any:
    x = alt.X(
        "size:Q",
        title=None,
        scale=alt.Scale(type="log", nice=False, padding=8),
        axis=alt.Axis(values=_TICKS_B, grid=False, format="d"),
    )
    y = alt.Y(
        "value:Q",
        title=None,
        scale=alt.Scale(type="log", nice=False, domain=domain),
        axis=alt.Axis(values=_TICKS_GBIT_PER_S, format="~g"),
    )
    colour = alt.Color(
        "series:N",
        title=None,
        scale=alt.Scale(domain=present, range=[_COLOURS[name] for name in present]),
    )
    line = {"x": x, "y": y, "color": colour}
    shapes = [_SHAPES.get(name, "stroke") for name in present]
    base = alt.Chart(alt.InlineData(values=rows))
    layers = [
        base.transform_filter(f"datum.series != '{_LIMIT}'").mark_line(strokeWidth=1.8).encode(**line),
        base.transform_filter(f"datum.series == '{_LIMIT}'")
        .mark_line(strokeWidth=1.8, strokeDash=_DASHES)
        .encode(**line),
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=1.5)
        .encode(x=x, y=alt.Y("low:Q", title=None), y2="high:Q", color=colour),
        base.transform_filter("isValid(datum.low)")
        .mark_point(filled=True, size=34, opacity=1)
        .encode(
            x=x,
            y=y,
            color=colour,
            shape=alt.Shape(
                "series:N",
                title=None,
                scale=alt.Scale(domain=present, range=shapes),
            ),
            tooltip=[
                alt.Tooltip("suite:N", title="Suite"),
                alt.Tooltip("series:N", title="By"),
                alt.Tooltip("interface:N", title="Interface"),
                alt.Tooltip("size:Q", title="Payload, B"),
                alt.Tooltip("value:Q", title="Gbit/s", format=".3~g"),
            ],
        ),
    ]
    return (
        alt.layer(*layers)
        .properties(**_PANEL)
        .facet(facet=alt.Facet("suite:N", sort=list(suites), title=None), columns=_COLUMNS, spacing=22)
        .properties(title=alt.TitleParams(title, anchor="start", fontSize=13, offset=10))
        .resolve_axis(x="independent", y="independent")
    )


def _rows(m: SpeedMeasurement) -> list[dict[str, Any]]:
    """The row of a measurement; for airtoll also the row of the limit, at the clock rate of that measurement."""
    low, high = m.gbit_per_s_quartiles
    rows = [_row(m, _SERIES[m.implementation], m.gbit_per_s, low=low, high=high)]
    if m.implementation == "airtoll" and m.share_of_limit is not None:
        rows.append(_row(m, _LIMIT, m.gbit_per_s / m.share_of_limit))
    return rows


def _row(
    m: SpeedMeasurement,
    series: str,
    value: float,
    *,
    suite: str | None = None,
    low: float | None = None,
    high: float | None = None,
) -> dict[str, Any]:
    return {
        "suite": suite or m.suite,
        "size": m.size_b,
        "series": series,
        "value": value,
        "low": low,
        "high": high,
        "interface": m.interface,
    }
