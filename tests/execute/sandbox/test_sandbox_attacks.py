"""Every way in which a job can misbehave ends in the right outcome, at every level that works here."""

from __future__ import annotations

import signal
import time

import pytest

from pipeline.execute.sandbox import Status


def test_reply_is_what_the_job_returned(attack):
    payload = bytes(range(256)) * 40_000  # 10 MB: far beyond what a pipe holds
    outcome = attack("reverse", payload)
    assert (outcome.status, outcome.reply, outcome.message) == (Status.OK, payload[::-1], "")
    assert outcome.signal is None


def test_empty_payload_and_empty_reply_are_fine(attack):
    assert attack("reverse", b"").reply == b""


def test_libraries_loaded_by_the_zygote_work(attack):
    assert attack("multiply").reply == b"1024.0"  # 256 products of 2 and 2


def test_a_job_leaves_nothing_for_the_next(attack):
    assert [attack("remember").reply for _ in range(3)] == [b"1", b"1", b"1"]


def test_prints_are_kept_in_order_and_never_taken_for_a_reply(attack):
    outcome = attack("print_in_order")
    assert (outcome.reply, outcome.log) == (b"", "one\ntwo\nthree \ufffd\n")


def test_long_log_keeps_head_and_tail_and_says_what_is_missing(attack):
    outcome = attack("print_much", log_bytes=2000)
    # 11 + 1000 * 1001 + 10 bytes were printed, 2000 of them are kept.
    assert outcome.log.startswith("first line\nxxx")
    assert outcome.log.endswith("xxx\nlast line\n")
    assert "[... 999021 bytes not kept ...]" in outcome.log


def test_endless_printing_is_stopped(attack):
    outcome = attack("print_forever", log_bytes=100)
    assert outcome.status is Status.OVERSIZED
    assert outcome.message == "printed more than 64 MiB"
    assert len(outcome.log) < 200


def test_exception_is_told_by_type_message_and_trace(attack):
    outcome = attack("raise_error")
    assert outcome.status is Status.FAILED
    assert (outcome.error_type, outcome.error_message) == ("ValueError", "bad shape (3, 4)")
    assert 'raise ValueError("bad shape (3, 4)")' in outcome.log


@pytest.mark.parametrize("job", ["raise_unprintable", "raise_interrupt", "raise_huge", "return_text"])
def test_odd_exceptions_are_failures_of_bounded_size(attack, job):
    outcome = attack(job)
    assert outcome.status is Status.FAILED
    assert len(outcome.error_message) <= 4000


def test_exit_without_reply_is_silent_whatever_the_code(attack):
    with_code, without = attack("leave"), attack("leave_at_once")
    assert (with_code.status, with_code.exit_code) == (Status.SILENT, 3)
    assert (without.status, without.exit_code) == (Status.SILENT, 0)
    assert without.message == "exited with code 0 without a reply"


def test_exit_handlers_do_not_run(attack):
    assert attack("leave_with_success_and_atexit").reply == b"done"


@pytest.mark.parametrize(("job", "killer"), [("segfault", signal.SIGSEGV), ("abort", signal.SIGABRT)])
def test_crash_names_its_signal(attack, job, killer):
    outcome = attack(job)
    assert (outcome.status, outcome.signal) == (Status.CRASHED, killer)
    assert outcome.message == f"was ended by {killer.name}"


def test_overflowing_the_stack_in_c_ends_that_job_only(attack):
    assert attack("overflow_stack", memory_bytes=2 << 30).status in (
        Status.CRASHED,
        Status.FAILED,
        Status.MEMORY,
    )


@pytest.mark.parametrize("job", ["loop", "loop_in_c", "sleep", "ignore_every_signal", "stop_itself"])
def test_wall_time_ends_any_job(attack, job):
    outcome = attack(job, wall_seconds=0.3)
    assert outcome.status is Status.TIMEOUT
    assert outcome.message == "ran longer than the 0.3 s of wall time"


@pytest.mark.parametrize("job", ["loop", "ignore_every_signal"])
def test_processor_time_ends_a_busy_job(attack, job):
    outcome = attack(job, wall_seconds=60, cpu_seconds=1)
    assert outcome.status is Status.TIMEOUT
    assert outcome.message == "used more than 1 s of processor time"
    assert outcome.cpu_seconds > 0


@pytest.mark.parametrize("job", ["allocate", "allocate_in_steps", "allocate_with_numpy"])
def test_memory_beyond_the_limit_is_refused(attack, job):
    outcome = attack(job)
    assert (outcome.status, outcome.message) == (Status.MEMORY, "needs more than 256 MiB of memory")


def test_fork_bomb_starts_nothing(attack):
    assert attack("fork_bomb").reply == b"0"


def test_reply_beyond_the_limit_is_refused_and_at_the_limit_is_not(attack):
    outcome = attack("reply_too_much", reply_bytes=(2 << 20) - 1)
    assert (outcome.status, outcome.reply) == (Status.OVERSIZED, None)
    assert outcome.message == "replied with 2097152 bytes, more than the 2097151 allowed"
    assert attack("reply_too_much", reply_bytes=2 << 20).status is Status.OK


def test_promise_of_a_terabyte_is_refused_at_once(attack):
    assert attack("promise_a_terabyte").status is Status.OVERSIZED


@pytest.mark.parametrize("job", ["write_garbage", "write_forever"])
def test_garbage_instead_of_a_reply_is_a_forgery(attack, job):
    outcome = attack(job)
    assert outcome.status is Status.FORGED
    assert outcome.message == "wrote something else than a reply to its reply pipe"


def test_reply_that_never_ends_is_a_timeout(attack):
    assert attack("promise_and_trickle", wall_seconds=0.3).status is Status.TIMEOUT


def test_job_cannot_blame_the_machine(attack):
    assert attack("blame_the_machine").status is Status.FORGED


def test_forged_reply_is_a_reply_and_nothing_more(attack):
    outcome = attack("forge_a_reply")
    assert (outcome.status, outcome.reply) == (Status.OK, b"forged")


def test_closing_every_descriptor_does_not_keep_a_job_alive(attack):
    outcome = attack("close_everything_and_stay", wall_seconds=60)
    assert outcome.status is Status.SILENT
    assert outcome.message == "closed its reply pipe and went on running"


def test_closing_its_log_is_allowed(attack):
    assert attack("close_log_and_reply").reply == b"still here"


def test_descriptors_are_limited(attack):
    # 0 to 3 are open from the start; pipes come in pairs.
    assert attack("hold_many_files", open_files=32).reply == b"28"


def test_time_is_counted(attack):
    before = time.monotonic()
    outcome = attack("sleep", wall_seconds=0.2)
    assert 0.2 <= outcome.wall_seconds <= time.monotonic() - before
    assert outcome.cpu_seconds < 0.2
