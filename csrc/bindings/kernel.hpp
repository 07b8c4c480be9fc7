#pragma once

#include <memory>

#include "bindings/call.hpp"

namespace tilewright::bindings {

/// A kernel that is freed with its last owner; what a Kernel of Python stands on.
class OwnedKernel {
 public:
  OwnedKernel(std::shared_ptr<Backend> backend, const KernelSource& source)
      : backend_(std::move(backend)), kernel_(backend_->create_kernel(source)) {}
  ~OwnedKernel() { backend_->release_kernel(kernel_); }
  OwnedKernel(const OwnedKernel&) = delete;
  OwnedKernel& operator=(const OwnedKernel&) = delete;

  const Backend* backend() const { return backend_.get(); }
  Kernel kernel() const { return kernel_; }

 private:
  std::shared_ptr<Backend> backend_;
  Kernel kernel_;
};

/// Adds the trait's calls of kernels and profiles, and CompiledKernel.
void bind_kernel(pybind11::module_& module, BackendClass& cls);

}  // namespace tilewright::bindings
