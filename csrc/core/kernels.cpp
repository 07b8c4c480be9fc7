#include <utility>
#include <vector>

#include "core/call.hpp"
#include "core/fork.hpp"
#include "core/text.hpp"
#include "core/utf8.hpp"
#include "tilewright/backend.hpp"

// Kernels of one's own: their handles, and the checks of their launches.
namespace tilewright {

namespace {

KernelRef find(const Call& call, const BackendState& state, Kernel handle) {
  KernelRef kernel = state.kernels.find(handle);
  if (kernel) return kernel;
  if (handle == Kernel::null) call.invalid("kernel is the null handle, expected a live kernel");
  const auto number = static_cast<std::uint64_t>(handle);
  if (KernelTable::was_issued(handle)) {
    call.invalid(text("kernel is ", number,
                      ", which was freed or belongs to another backend; pass one that is live "
                      "here"));
  }
  call.invalid(text("kernel is ", number, ", which no create_kernel() returned"));
}

void check_name(const Call& call, std::string_view argument, std::string_view name) {
  constexpr std::size_t most_bytes = 1000;
  if (name.size() > most_bytes) {
    call.invalid(text(argument, " has ", name.size(), " bytes, expected at most ", most_bytes));
  }
  for (const char c : name) {
    if (static_cast<unsigned char>(c) < ' ') {
      call.invalid(text(argument, " has a control character, expected one line of text"));
    }
  }
  if (!is_utf8(name)) call.invalid(text(argument, " is no valid UTF-8"));
}

/// What the code declares, for a message: "a, b, out".
template <class Declared>
std::string names_of(const std::vector<Declared>& all) {
  std::string names;
  for (const Declared& one : all) names += text(names.empty() ? "" : ", ", one.name);
  return names;
}

std::string listed(const std::string& names) { return names.empty() ? "" : text(" (", names, ")"); }

void check_view(const Call& call, const CompiledKernel& kernel, std::size_t i,
                const BufferRange& range) {
  if (range.offset % kernel.limits().binding_alignment != 0) {
    call.invalid(text("buffers[", i, "] is a view from byte ", range.offset,
                      " of its buffer on, expected a multiple of ",
                      kernel.limits().binding_alignment,
                      ", where bindings of this device may start; copy it to such a place"));
  }
  constexpr std::uint64_t word = 4;
  if (range.bytes % word != 0 && range.offset + range.bytes != range.allocation->bytes()) {
    call.invalid(text("buffers[", i, "] is a view of ", range.bytes,
                      " bytes, expected a multiple of 4, since bindings are whole words, or one "
                      "that reaches to the end of its buffer"));
  }
}

/// Whether one is read and the other may be written where the device cannot have that.
bool clash(const CompiledKernel& kernel, std::size_t i, const BufferRange& a, std::size_t j,
           const BufferRange& b) {
  const KernelInfo& info = kernel.info();
  if (a.allocation != b.allocation || info.bindings[i].writable == info.bindings[j].writable) {
    return false;
  }
  return kernel.limits().one_use_of_buffer || a.overlaps(b);
}

void check_buffers(const Call& call, const CompiledKernel& kernel, std::span<const Buffer> buffers,
                   std::vector<BufferRange>& found) {
  const KernelInfo& info = kernel.info();
  if (buffers.size() != info.bindings.size()) {
    call.invalid(text("buffers has ", buffers.size(), " entries, expected ", info.bindings.size(),
                      listed(names_of(info.bindings)), ", as ", info.name, " declares"));
  }
  found.reserve(buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const KernelBinding& binding = info.bindings[i];
    if (buffers[i] == Buffer::null) {
      call.invalid(
          text("buffers[", i, "] (", binding.name, ") is the null handle, expected a live buffer"));
    }
    found.push_back(call.buffer("buffers", buffers[i]));
    const std::uint64_t bytes = found[i].bytes;
    if (bytes < binding.least_bytes) {
      call.invalid(text("buffers[", i, "] holds ", bytes, " bytes, expected at least ",
                        binding.least_bytes, " for ", binding.name));
    }
    if (bytes > kernel.limits().max_binding_bytes) {
      throw Unsupported(text(call.op(), ": buffers[", i, "] holds ", bytes,
                             " bytes, but one binding of this device holds ",
                             kernel.limits().max_binding_bytes, "; bind views of its parts"));
    }
    check_view(call, kernel, i, found[i]);
    for (std::size_t j = 0; j < i; ++j) {
      if (!clash(kernel, i, found[i], j, found[j])) continue;
      const bool overlapping = found[i].overlaps(found[j]);
      call.invalid(text("buffers[", i, "] (", binding.name, ") is ",
                        overlapping ? "the same buffer as" : "a view on the buffer of", " buffers[",
                        j, "] (", info.bindings[j].name,
                        "), and the kernel reads one and may write the other; pass two buffers, "
                        "or declare both read_write"));
    }
  }
}

/// Whether there is any work.
bool check_grid(const Call& call, const CompiledKernel& kernel, const std::array<Size, 3>& grid) {
  for (std::size_t i = 0; i < grid.size(); ++i) {
    if (grid[i] < 0) call.invalid(text("grid[", i, "] is ", grid[i], ", expected 0 or more"));
    if (grid[i] > kernel.limits().max_groups) {
      call.invalid(text("grid[", i, "] is ", grid[i], " workgroups, expected at most ",
                        kernel.limits().max_groups, " in a dimension; use the others too"));
    }
  }
  return grid[0] != 0 && grid[1] != 0 && grid[2] != 0;
}

}  // namespace

Kernel Backend::create_kernel(const KernelSource& source) {
  Call call(*state_, "create_kernel", RunAtOnce());
  if (source.code.empty()) call.invalid("code is empty, expected a kernel");
  if (source.entry.empty()) call.invalid("entry is empty, expected the name of an entry point");
  check_name(call, "entry", source.entry);
  check_name(call, "name", source.name);
  call.checked();
  KernelSource named = source;
  if (named.name.empty()) named.name = named.entry;
  KernelRef kernel = do_create_kernel(named);
  std::lock_guard lock(state_->mutex);
  return state_->kernels.insert(std::move(kernel));
}

void Backend::free_kernel(Kernel kernel) {
  Call call(*state_, "free_kernel", RunAtOnce());
  // Held past the lock: giving it back goes through the device.
  const KernelRef found = find(call, *state_, kernel);
  state_->kernels.remove(kernel);
  call.checked();
}

void Backend::release_kernel(Kernel kernel) noexcept {
  const InCore in_core;
  KernelRef found;
  {
    std::unique_lock lock(state_->mutex);
    // What close() has not taken yet it will take.
    if (!state_->enter(lock)) return;
    found = state_->kernels.remove(kernel);
  }
  found.reset();
  state_->leave();
}

KernelInfo Backend::kernel_info(Kernel kernel) const {
  Call call(*state_, "kernel_info", RunAtOnce());
  return find(call, *state_, kernel)->info();
}

void Backend::launch_kernel(Kernel kernel, std::span<const Buffer> buffers,
                            std::span<const std::byte> params, const std::array<Size, 3>& grid) {
  Call call(*state_, "launch_kernel");
  LaunchRequest r;
  r.kernel = find(call, *state_, kernel);
  const KernelInfo& info = r.kernel->info();
  check_buffers(call, *r.kernel, buffers, r.buffers);
  if (params.size() != info.params_bytes) {
    call.invalid(text("params has ", params.size(), " bytes, expected ", info.params_bytes,
                      listed(names_of(info.params)), ", as ", info.name, " declares"));
  }
  const bool any = check_grid(call, *r.kernel, grid);
  r.params = params;
  for (std::size_t i = 0; i < grid.size(); ++i) r.grid[i] = static_cast<std::uint32_t>(grid[i]);
  call.checked();
  if (any) do_launch_kernel(r);
}

}  // namespace tilewright
