"""The paper's experiments as one command: units of work, a store that survives, a report."""
