"""Whether outputs are right: the float64 oracle, the comparator and the cases of a task."""
