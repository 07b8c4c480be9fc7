#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "tilewright/export.hpp"

namespace tilewright {

/// The root of all that this library throws. A message names the call, the argument, what it was
/// and what was expected. A call that throws has changed nothing.
class TILEWRIGHT_API Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  ~Error() override;
};

/// An op was called before init() or after close().
class TILEWRIGHT_API NotInitialized : public Error {
 public:
  using Error::Error;
  ~NotInitialized() override;
};

/// The request itself is wrong: a handle, a shape, a scale, a name, or a size no device could hold.
class TILEWRIGHT_API InvalidArgument : public Error {
 public:
  using Error::Error;
  ~InvalidArgument() override;
};

/// An index lies outside its axis. Of indices in the memory of a GPU what waits for it throws this.
class TILEWRIGHT_API IndexOutOfRange : public InvalidArgument {
 public:
  using InvalidArgument::InvalidArgument;
  ~IndexOutOfRange() override;
};

/// The request is right, but this backend or device cannot do it.
class TILEWRIGHT_API Unsupported : public Error {
 public:
  using Error::Error;
  ~Unsupported() override;
};

/// The device or the limit set on it is full now; the same request may succeed after a free().
class TILEWRIGHT_API OutOfMemory : public Error {
 public:
  OutOfMemory(const std::string& message, std::uint64_t requested_bytes)
      : Error(message), requested_bytes_(requested_bytes) {}
  ~OutOfMemory() override;
  std::uint64_t requested_bytes() const { return requested_bytes_; }

 private:
  std::uint64_t requested_bytes_;
};

/// The device, its driver or its library failed.
class TILEWRIGHT_API DeviceError : public Error {
 public:
  using Error::Error;
  ~DeviceError() override;
};

/// The device is gone; only close() and init() help.
class TILEWRIGHT_API DeviceLost : public DeviceError {
 public:
  using DeviceError::DeviceError;
  ~DeviceLost() override;
};

/// A kernel did not compile. The message holds the compiler's log, with file and line.
class TILEWRIGHT_API KernelError : public DeviceError {
 public:
  using DeviceError::DeviceError;
  ~KernelError() override;
};

/// A backend or device cannot be used on this machine; the message says why and what mends it.
class TILEWRIGHT_API BackendUnavailable : public DeviceError {
 public:
  using DeviceError::DeviceError;
  ~BackendUnavailable() override;
};

}  // namespace tilewright
