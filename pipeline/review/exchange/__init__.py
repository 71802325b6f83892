"""Exchange of reviews with other annotation programs: items go out, blind answers come back.

What goes out is what a reviewer sees before the commit: code, statement, deterministic evidence and the
rubric. Nothing of the judge, the route or the author is among it. What comes back is kept as labels of named
raters, never as decisions.
"""

from pipeline.review.exchange.answers import BadRow, ImportResult, Parsed, import_answers
from pipeline.review.exchange.items import ExchangeItem, collect_items, gather_criteria

__all__ = [
    "BadRow",
    "ExchangeItem",
    "ImportResult",
    "Parsed",
    "collect_items",
    "gather_criteria",
    "import_answers",
]
