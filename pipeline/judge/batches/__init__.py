"""Provider batches: many questions at once, at a lower price and within a day, and none paid for twice.

A batch is kept in the store before it is sent. Whatever kills the process, the next run lists what the
provider has, adopts what it finds there, and collects the answers into the same memo that live calls use; the
panel then finds them as if they had been asked for one by one.
"""

from pipeline.judge.batches.caller import BatchCaller
from pipeline.judge.batches.desk import BatchDesk, Waiting

__all__ = ["BatchCaller", "BatchDesk", "Waiting"]
