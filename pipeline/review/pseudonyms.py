"""Pseudonyms: names that stay with an author and say nothing about them."""

from __future__ import annotations

import hashlib
import hmac
import re
from pathlib import PurePosixPath
from typing import Final

from pipeline.store.records import DeskItem

__all__ = ["author_behind", "author_of", "author_to_cover", "pseudonym_of"]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_ADJECTIVES: Final = _words(
    "amber azure bold brave brisk bright bronze calm candid clear clever cobalt copper coral crimson crisp "
    "curious deft eager early fair fast fleet fresh frosty gentle glad grand green hardy hazel honest "
    "humble indigo ivory jade jolly keen kind lively loyal lucid lunar maple mellow merry mild misty modest "
    "neat nimble noble olive open opal patient pearl plain polar proud quick quiet rapid ready robust royal "
    "ruby rustic sandy sharp silent silver sleek smooth snowy solar solid sound spry steady still sunny "
    "swift tidy topaz vivid warm wise witty young zesty"
)

_NOUNS: Final = _words(
    "acorn alder aspen badger beacon birch bison bridge brook canyon cedar cliff clover comet condor crane "
    "creek dove dune eagle elm falcon fern finch fjord forest fox geyser glacier grove gull harbour hare "
    "hawk heron hill ibis island jay juniper kestrel lagoon lake larch lark lemur linden lotus lynx marsh "
    "marten meadow mesa moor moss oak orchid osprey otter owl palm panda pebble pine plover pond poplar "
    "prairie puffin quail raven reef ridge river robin rowan seal sparrow spruce stork summit swan thistle "
    "thrush tundra valley walnut willow wren yew"
)

_ROW: Final = re.compile(r":\d+$")


def author_of(item: DeskItem) -> str:
    """Return what submissions of the author of `item` have in common."""
    return author_behind(item.author, item.origin, item.submission_id)


def author_behind(declared: str, origin: str, submission_id: str) -> str:
    """Return what submissions of one author have in common.

    Who was declared to be the author is. Else rows of one file are one author's, and so are the files of one
    folder. Where nothing says where a submission came from, it is its own author.

    Args:
        declared: The author that whoever handed it in named; empty where nobody did.
        origin: Where it came from: a path, or a row of a file; may be empty.
        submission_id: Which it is.
    """
    if declared:
        return declared
    origin = origin.split(", ")[0]
    if not origin:
        return submission_id
    if _ROW.search(origin):
        return _ROW.sub("", origin)
    folder, _, name = origin.rpartition("/")
    return folder or name


def author_to_cover(declared: str, origin: str, submission_id: str) -> str:
    """Return the author that a certificate must cover; as `author_behind`, but for rows without one.

    A file of rows is often a night's: were it an author, each night's would be new and none ever covered. So
    all files of rows in one folder are one author's.
    """
    author = author_behind(declared, origin, submission_id)
    if declared or not _ROW.search(origin.split(", ")[0]):
        return author
    return str(PurePosixPath(author).parent)


def pseudonym_of(secret: str, author: str) -> str:
    """Return the name of `author` under `secret`, such as ``amber-heron-42``."""
    digest = hmac.new(secret.encode(), author.encode("utf-8", "surrogatepass"), hashlib.sha256).digest()
    number = int.from_bytes(digest[:8], "big")
    number, adjective = divmod(number, len(_ADJECTIVES))
    number, noun = divmod(number, len(_NOUNS))
    return f"{_ADJECTIVES[adjective]}-{_NOUNS[noun]}-{number % 100:02}"
