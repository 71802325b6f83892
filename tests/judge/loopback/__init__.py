"""Loopback servers that speak the wire formats of model providers, for tests with the real SDK clients.

One server answers every format at once; which one a request speaks shows by its path: ``/v1/messages``
(with its batches and token count), ``/v1/responses`` (with ``/v1/files`` and ``/v1/batches``),
``/v1/chat/completions``. The bodies are written from the SDKs' own types.

In a test::

    with Loopback() as server:
        role = JudgeRole(provider="anthropic", model="m", base_url=server.url("anthropic"), ...)
        server.play("status:429;retry-after=1", "ok")  # what becomes of the next calls, in order of arrival
        ...
        assert len(server.calls) == 2  # every request is recorded, also the failed ones

or with the fixture: ``from tests.judge.loopback.fixtures import loopback`` in a test module.

For a process of its own, which outlives those that are killed::

    python -m tests.judge.loopback --format anthropic --log calls.jsonl --delay 0.05 --step reset --step ok

prints its address, in the form that ``base_url`` wants, as the first line, and writes one line of JSON per
request into the log before anything is answered, and one when it is. ``POST /_loopback`` steers a running
one, with any of ``{"play": [...], "play_lines": [...], "play_batches": [...], "hold": true, "end_batches":
true}``; ``GET /_loopback`` counts what came.

A step is one of these, each for one call:

- ``ok``, the default: a valid answer to the schema given, always the same to the same request: level 2,
  citing the first line of the numbered code, or else the first fact. ``text:...`` answers with that text
  instead.
- ``fence``, ``prose``, ``missing``, ``extra``, ``duplicate``, ``range``, ``blank``: the valid answer, spoilt.
- ``truncated``, ``context``, ``refusal`` (with text), ``refusal-empty``: other reasons to stop.
- ``too-long``: the error of a prompt that does not fit. ``declined``: that of a prompt that is not allowed.
- ``status:429;retry-after=300;message=...``: an error status with headers, in the format's own body.
- ``html``, ``html:502``: a page instead of JSON. ``malformed``, ``empty``, ``other``: a body without an
  answer. ``raw:...``: that body.
- ``reset``: the connection breaks before an answer; ``reset-body``: in the middle of it. ``hang``: no answer;
  ``drip``: the beginning of one that never ends.

The lines of batches go through `Loopback.play_lines` (the same steps, and ``expired``, ``canceled``,
``gone``). Batches end when `Loopback.end_batches` is called or ``batch_seconds`` have passed. Attempts to
create one go through `Loopback.play_batches` (``lost``: it is accepted, and the connection breaks before
the answer), and attempts to read results through `Loopback.play_results`.
"""

from __future__ import annotations

from tests.judge.loopback.server import Loopback, Recorded

__all__ = ["Loopback", "Recorded"]
