"""The form of charts: their specification, their x axis and the meaning of colours."""
