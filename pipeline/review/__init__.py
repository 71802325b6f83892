"""The human workflow without HTTP or LangGraph: the queue, and what a decision makes of a draft."""
