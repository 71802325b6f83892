"""Let providers count the tokens of questions before any is asked.

Counting is free, but the provider reads the text: it is done only where somebody asked for it, and only of
providers that code may be sent to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from pipeline.judge.calls.question import Question
from pipeline.judge.providers import open_provider
from pipeline.judge.providers.provider import Provider, ProviderError
from pipeline.types import JudgeRole

__all__ = ["count_questions"]

#: Requests under way at once: providers limit counting apart from answering, and lower.
_AT_ONCE: Final = 8


async def count_questions(
    questions: Sequence[Question], *, open_provider: Callable[[JudgeRole], Provider] = open_provider
) -> dict[str, int]:
    """Return the tokens of each question by its key, as its provider counts them.

    A provider that cannot count, as most servers of one's own, leaves its questions out.

    Raises:
        ProviderError: If a provider that can count gives no answer, such as for a wrong key.
    """
    providers: dict[JudgeRole, Provider] = {}
    counted: dict[str, int] = {}
    slots = asyncio.Semaphore(_AT_ONCE)

    async def count(question: Question, provider: Provider) -> None:
        async with slots:
            try:
                counted[question.key] = await provider.count_tokens(question.request)
            except ProviderError as error:
                if error.fault.code != "cannot_count_tokens":
                    raise

    try:
        async with asyncio.TaskGroup() as group:
            for question in questions:
                provider = providers.get(question.role)
                if provider is None:
                    provider = providers[question.role] = open_provider(question.role)
                group.create_task(count(question, provider))
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    finally:
        for provider in providers.values():
            await provider.aclose()
    return counted
