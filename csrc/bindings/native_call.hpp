#pragma once

namespace tilewright::bindings {

/// Stands while a thread of Python is in the core, without the GIL. The process does not end before
/// all are out: what drivers and libraries take apart at its end would be taken from under them.
class NativeCall {
 public:
  NativeCall() noexcept;
  ~NativeCall();
  NativeCall(const NativeCall&) = delete;
  NativeCall& operator=(const NativeCall&) = delete;

 private:
  unsigned fork_generation_;
};

/// Has the end of the interpreter wait for them.
void bind_native_calls();

}  // namespace tilewright::bindings
