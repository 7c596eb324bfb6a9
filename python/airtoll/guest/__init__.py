"""The guest: a Linux kernel that runs as an ordinary process of this machine, in virtual time.

The guest's clock moves only while every program in it sleeps (user-mode Linux with `time-travel=inf-cpu`). However busy
the machine is, no frame is late, and the same run gives the same samples, octet for octet. The machine's own files are
the guest's root, so airtoll and the tools run in it unchanged. Each run boots a guest of its own: it depends on nothing
that ran before, and runs proceed side by side.

- `recipe`: the kernel's source package, patches and configuration, and where the built kernel is kept
- `build`: `airtoll lab build`, which downloads, patches, configures and compiles the kernel
- `job`: the files of a guest's job
- `boot`: a guest as a process: start, output, watchdog, end
- `inside`: the first program of a guest, which performs one job
- `runs`: runs of a study, each in a guest, several at a time
"""
