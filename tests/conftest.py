"""What every test needs."""

from __future__ import annotations

import signal

# A shell starts background jobs with Ctrl-C ignored, and their children inherit that. Tests that send it to a
# process of theirs need it to arrive, however this one was started.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
