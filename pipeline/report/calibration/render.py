"""Renders the report of a calibration: one HTML file that needs no other files, no scripts and no network.

Names of tasks, criteria, judges and people are others' text: all of it is escaped by the template engine, and
invisible characters are made visible.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pipeline import __version__
from pipeline.report.calibration.figures import draw_reliability, draw_risk, sample_risk
from pipeline.report.output import write_whole
from pipeline.routing.calibration_result import NOT_EVIDENCE, Findings, ScopeCalibration
from pipeline.stats.agreement import Estimate, PairAgreement
from pipeline.types.visible import show_controls

__all__ = ["render_calibrations", "write_calibrations"]

#: Of an agreement, in the order of the table: the field, its heading, and how its number is written.
_MEASURES: Final = (
    ("exact", "same", "share"),
    ("adjacent", "within 1", "share"),
    ("difference", "bias", "signed"),
    ("absolute_error", "mean error", "number"),
    ("kappa", "κ quadratic", "number"),
    ("kappa_linear", "κ linear", "number"),
    ("kappa_identity", "κ", "number"),
    ("ac1", "AC1", "number"),
    ("ac2", "AC2", "number"),
    ("alpha", "α ordinal", "number"),
)


def write_calibrations(calibrations: Sequence[ScopeCalibration], path: Path) -> Path:
    """Write the report of one calibration, of at least one scope, to `path`, whole or not at all.

    The same calibration gives the same bytes.

    Raises:
        GraderError: If the file cannot be written.
    """
    with write_whole(path, "report") as file:
        file.write(render_calibrations(calibrations))
    return path


def render_calibrations(calibrations: Sequence[ScopeCalibration]) -> str:
    """Return the page.

    Raises:
        ValueError: If there is nothing to report.
    """
    if not calibrations:
        raise ValueError("a report needs at least one scope")
    return (
        _environment()
        .get_template("calibration.html")
        .render(
            calibrations=calibrations,
            policy=calibrations[0].policy,
            constructed=any(one.constructed for one in calibrations),
            dry_run=calibrations[0].dry_run,
            version=__version__,
        )
    )


def _environment() -> Environment:
    environment = Environment(
        loader=ChoiceLoader(
            [
                PackageLoader("pipeline.report.calibration", "templates"),
                PackageLoader("pipeline.report", "templates"),
            ]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_show,
    )
    environment.filters |= {
        "estimate": _say_estimate,
        "percent": _percent,
        "money": _money,
        "share": _say_share,
    }
    environment.globals |= {
        "measures": _MEASURES,
        "not_evidence": NOT_EVIDENCE,
        "draw_reliability": draw_reliability,
        "draw_risk": draw_risk,
        "sample_risk": sample_risk,
        "pairs": _name_pairs,
        "certificate_parts": _CERTIFICATE_PARTS,
    }
    return environment


def _show(value: Any) -> Any:
    """Make control characters of whatever becomes text visible, on its way into the page."""
    return value if isinstance(value, Markup) else show_controls(str(value))


def _percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f} %"


def _money(amount: float) -> str:
    return f"{amount:,.0f}".replace(",", " ")


def _say_estimate(estimate: Estimate, form: str = "number", *, count: bool = False) -> Markup:
    """Return an estimate with its interval below it and, with `count`, its n; without a value the reason."""
    if estimate.value is None:
        return Markup('<span class="muted">{}</span>').format(_show(estimate.reason))
    parts = [Markup("{}").format(_write_number(estimate.value, form))]
    if estimate.interval is not None and estimate.interval.low == estimate.interval.high:
        # A bootstrap of what is all alike knows of nothing else.
        parts.append(Markup('<span class="muted span">all alike</span>'))
    elif estimate.interval is not None:
        low, high = (_write_number(end, form) for end in (estimate.interval.low, estimate.interval.high))
        parts.append(Markup('<span class="muted span">{} to {}</span>').format(low, high))
    if count:
        parts.append(Markup('<span class="muted span">n = {}</span>').format(estimate.n))
    return Markup(" ").join(parts)


def _say_share(estimate: Estimate) -> Markup:
    """Return a share within a sentence, e.g. ``80 % (72 to 87 %, n = 112)``; without a value the reason."""
    if estimate.value is None:
        return Markup("a share that cannot be said ({})").format(_show(estimate.reason))
    share = _write_number(estimate.value, "share")
    span = ""
    if estimate.interval is not None:
        span = f"{_percent(estimate.interval.low)} to {_percent(estimate.interval.high)}, "
    return Markup("{} ({}n = {})").format(share, span, estimate.n)


def _write_number(value: float, form: str) -> str:
    if form == "share":
        return _percent(value)
    # Rounded first: -0.001 is 0.00 and has no sign.
    shown = round(value, 3 if form == "fine" else 2) + 0.0
    if form == "signed":
        return f"{shown:+.2f}" if shown else "0.00"
    return f"{shown:.{3 if form == 'fine' else 2}f}"


def _name_pairs(findings: Findings) -> tuple[tuple[str, PairAgreement], ...]:
    return (("judge – people", findings.judge), ("people – people", findings.people))


#: Parts of a scope in a reader's words, for what a certificate is void without.
_CERTIFICATE_PARTS: Final = (
    ("rubric", "rubric"),
    ("prompt", "prompt"),
    ("judge", "judge and its parameters"),
    ("executor", "executor"),
    ("target", "chip"),
    ("toolchain", "NKI version"),
    ("numerics", "numerics"),
    ("comparison", "comparison"),
    ("checks", "checks"),
)
