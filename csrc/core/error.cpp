#include "tilewright/error.hpp"

#include "tilewright/version.hpp"

namespace tilewright {

// Out of line, so that each type has one home and can be caught across libraries.
Error::~Error() = default;
NotInitialized::~NotInitialized() = default;
InvalidArgument::~InvalidArgument() = default;
IndexOutOfRange::~IndexOutOfRange() = default;
Unsupported::~Unsupported() = default;
OutOfMemory::~OutOfMemory() = default;
DeviceError::~DeviceError() = default;
DeviceLost::~DeviceLost() = default;
KernelError::~KernelError() = default;
BackendUnavailable::~BackendUnavailable() = default;

const char* version() noexcept { return TILEWRIGHT_VERSION; }

}  // namespace tilewright
