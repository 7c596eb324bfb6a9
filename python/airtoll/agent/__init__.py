"""Hosts through `airtoll-agent`, a static program that runs on each of them and serves this one over a byte stream.

- `connection`: frames, requests and events of one agent
- `processes`: commands on a host, with the interface of `subprocess.Popen`
- `sampling`: readings of a host at a fixed rate
- `host`: a host whose agent is reached
- `binary`: the agent's program for a processor architecture
- `ssh`: hosts behind SSH, to which the program is copied
- `agentless`: stations behind SSH for which no agent exists: macOS and Windows
"""
