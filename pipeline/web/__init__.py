"""The review desk and dashboards over HTTP: knows services, not LangGraph."""
