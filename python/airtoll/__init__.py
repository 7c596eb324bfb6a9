"""airtoll: what securing a wireless LAN costs, measured, explained and cut.

The sub-packages are the stages of the data flow, each reading only what stands before it:
study -> labs -> probes -> store -> stats -> model -> report -> cli.
"""
