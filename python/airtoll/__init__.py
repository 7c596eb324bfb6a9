"""airtoll measures what securing a wireless LAN costs, explains the cost and reduces it.

The sub-packages are the stages of the data flow. Each imports only packages to its left:
study -> labs -> probes -> store -> stats -> model -> report -> cli.
"""
