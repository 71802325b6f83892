"""One file per screen; each offers a `router`."""
