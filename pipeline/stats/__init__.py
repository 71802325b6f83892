"""Statistics as pure functions: numbers in, numbers out, each with the source of its formula."""
