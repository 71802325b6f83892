"""The versions of NKI whose rules are known, and spans of them.

Source: release notes of the NKI component (aws-neuron-sdk, release-notes/components/nki.rst).
"""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["NEWEST", "OLDEST", "RELEASES", "VERSIONS", "Release", "holds_in"]


class Release(NamedTuple):
    """One release of NKI.

    Attributes:
        version: Of NKI, major and minor.
        sdk: AWS Neuron SDK that brought it.
        date: ISO date.
    """

    version: str
    sdk: str
    date: str


#: Oldest first. The oldest is the first general release; the betas before it are another language.
RELEASES: Final = (
    Release("0.3", "2.29.0", "2026-04-09"),
    Release("0.4", "2.30.0", "2026-05-21"),
    Release("0.5", "2.31.0", "2026-07-07"),
    Release("0.6", "2.32.0", "2026-08-17"),
)

VERSIONS: Final = tuple(release.version for release in RELEASES)
OLDEST: Final = VERSIONS[0]
NEWEST: Final = VERSIONS[-1]

_PLACES: Final = {version: place for place, version in enumerate(VERSIONS)}


def holds_in(version: str, since: str, until: str | None) -> bool:
    """Whether `version` lies in a span.

    Args:
        version: One of `VERSIONS`.
        since: First version of the span.
        until: First version after it; None for a span that has not ended.

    Raises:
        KeyError: If one of them is no known version.
    """
    place = _PLACES[version]
    return _PLACES[since] <= place and (until is None or place < _PLACES[until])
