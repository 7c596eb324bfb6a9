"""How charts look: their specification, what they are drawn against, and what colour means."""
