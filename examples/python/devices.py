"""Every device that every backend can see, and why one cannot be used."""

import tilewright

for device in tilewright.devices():
    about = device.name if device.available else device.reason
    print(f"{device.id:<13} {device.kind.name:<11} {about}")
print("auto is", tilewright.init_backend().device.id)
