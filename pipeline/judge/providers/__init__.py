"""Who serves models: one file per wire format."""
