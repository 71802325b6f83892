"""Other arithmetics for a task's reference: running error bounds, honest executions, ideal machines."""
