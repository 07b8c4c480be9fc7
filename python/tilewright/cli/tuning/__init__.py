"""How `tilewright tune` finds the quickest kernels.

`search` asks, `worker` answers from a process of its own, which alone opens the device: a kernel
that crashes, hangs or loses the device takes only that process with it.
"""
