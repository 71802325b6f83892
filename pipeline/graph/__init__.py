"""The LangGraph pipeline. Read state, nodes, build, batch: together they are the whole story."""
