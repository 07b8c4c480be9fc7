#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <memory>

#include "gpu/backend.hpp"
#include "gpu/plan.hpp"

// Copies of any offset and size over devices that copy whole words.
namespace tilewright::gpu {

namespace {

constexpr std::uint64_t word = 4;
/// Fewer bytes go by a kernel where the API's own copies end the pass of the launches around them,
/// which takes a GPU some 10 us.
constexpr std::uint64_t few_bytes = 65536;

std::uint64_t round_down(std::uint64_t bytes) { return bytes / word * word; }
std::uint64_t round_up(std::uint64_t bytes) { return (bytes + word - 1) / word * word; }

/// From the last place before `offset` that a binding may start at, up to `most` bytes.
Binding binding_around(DeviceBuffer& buffer, std::uint64_t offset, std::uint64_t most,
                       std::uint64_t alignment) {
  const std::uint64_t start = offset / alignment * alignment;
  return {&buffer, start, std::min(buffer.bytes() - start, most)};
}

DeviceBuffer& buffer_of(Allocation& allocation) {
  return static_cast<GpuAllocation&>(allocation).buffer();
}

}  // namespace

void GpuBackend::do_copy_htod(Allocation& dst, std::span<const std::byte> src,
                              std::uint64_t offset) {
  DeviceBuffer& buffer = buffer_of(dst);
  const std::uint64_t end = offset + src.size();
  const std::uint64_t whole_begin = round_up(offset);
  const std::uint64_t whole_end = round_down(end);
  // Words that are ours in part keep their other bytes.
  const auto write_part = [&](std::uint64_t begin, std::uint64_t stop) {
    if (begin >= stop) return;
    const std::uint64_t start = round_down(begin);
    const std::uint64_t alignment = device_->limits().binding_alignment;
    const Binding binding = binding_around(buffer, start, alignment, alignment);
    struct {
      std::uint32_t word, mask = 0, value = 0;
    } params{static_cast<std::uint32_t>((start - binding.offset) / word)};
    std::memcpy(reinterpret_cast<std::byte*>(&params.value) + (begin - start),
                src.data() + (begin - offset), stop - begin);
    std::memset(reinterpret_cast<std::byte*>(&params.mask) + (begin - start), 0xff, stop - begin);
    // As the upload of the words beside it.
    device_->launch_at_once({&kernel(KernelId::write_bytes, 0, [](TemplateVariables&) {}),
                             std::span(&binding, 1),
                             std::as_bytes(std::span(&params, 1)),
                             {1, 1, 1}});
  };
  if (whole_begin > whole_end) return write_part(offset, end);
  write_part(offset, whole_begin);
  if (whole_end > whole_begin) {
    memory_->with_room([&] {
      device_->upload(buffer, whole_begin,
                      src.subspan(whole_begin - offset, whole_end - whole_begin));
    });
  }
  write_part(whole_end, end);
}

void GpuBackend::do_copy_dtoh(std::span<std::byte> dst, Allocation& src, std::uint64_t offset) {
  // A short read is awaited together with that of the faults, and seen once there are none.
  constexpr std::size_t shortest = 4096;
  if (dst.size() > shortest) {
    faults_->check();
  } else if (const std::uint64_t of_faults = faults_->read_later(); of_faults != 0) {
    const auto room = std::make_shared<std::array<std::byte, shortest>>();
    const HostRead read{std::span(*room).first(dst.size()), room};
    const std::uint64_t place =
        memory_->with_room([&] { return device_->start_download(read, buffer_of(src), offset); });
    do_reach(std::max(place, of_faults), std::chrono::steady_clock::time_point::max());
    std::memcpy(dst.data(), room->data(), dst.size());
    return;
  }
  DeviceBuffer& buffer = buffer_of(src);
  const std::uint64_t end = offset + dst.size();
  const auto read_part = [&](std::uint64_t begin, std::uint64_t stop) {
    if (begin >= stop) return;
    std::array<std::byte, 8> words;
    const std::uint64_t start = round_down(begin);
    memory_->with_room(
        [&] { device_->download(std::span(words).first(round_up(stop) - start), buffer, start); });
    std::memcpy(dst.data() + (begin - offset), words.data() + (begin - start), stop - begin);
  };
  const std::uint64_t whole_begin = round_up(offset);
  const std::uint64_t whole_end = round_down(end);
  if (whole_begin >= whole_end) return read_part(offset, end);
  read_part(offset, whole_begin);
  memory_->with_room([&] {
    device_->download(dst.subspan(whole_begin - offset, whole_end - whole_begin), buffer,
                      whole_begin);
  });
  read_part(whole_end, end);
}

std::uint64_t GpuBackend::do_copy_dtoh_async(HostRead read, Allocation& src, std::uint64_t offset) {
  const std::uint64_t place =
      memory_->with_room([&] { return device_->start_download(read, buffer_of(src), offset); });
  return std::max(place, faults_->read_later());
}

std::uint64_t GpuBackend::copy_fours(DeviceBuffer& to, DeviceBuffer& from, std::uint64_t bytes,
                                     std::uint64_t dst_offset, std::uint64_t src_offset) {
  constexpr std::uint64_t four = 16, of_group = 4 * group_size;
  if (!device_->limits().compiles_templates || (dst_offset | src_offset) % four != 0) return 0;
  const std::uint64_t most = window_bytes();
  const std::uint64_t alignment = device_->limits().binding_alignment;
  const std::uint64_t most_at_once = (most - alignment) / four * four;
  const std::uint64_t whole = bytes / four * four;
  for (std::uint64_t done = 0; done < whole; done += most_at_once) {
    const std::array<Binding, 2> bindings{binding_around(from, src_offset + done, most, alignment),
                                          binding_around(to, dst_offset + done, most, alignment)};
    const std::uint64_t count = std::min(whole - done, most_at_once) / four;
    const struct {
      std::uint32_t target_start, source_start, count;
    } params{static_cast<std::uint32_t>((dst_offset + done - bindings[1].offset) / four),
             static_cast<std::uint32_t>((src_offset + done - bindings[0].offset) / four),
             static_cast<std::uint32_t>(count)};
    run(KernelId::copy_fours, 0, params, bindings, cover(count, of_group),
        [](TemplateVariables& v) { v["GROUP"] = std::int64_t{group_size}; });
  }
  return whole;
}

void GpuBackend::do_copy_dtod(Allocation& dst, Allocation& src, std::uint64_t bytes,
                              std::uint64_t dst_offset, std::uint64_t src_offset) {
  copy_between(buffer_of(dst), dst_offset, buffer_of(src), src_offset, bytes);
}

void GpuBackend::copy_between(DeviceBuffer& to, std::uint64_t dst_offset, DeviceBuffer& from,
                              std::uint64_t src_offset, std::uint64_t bytes) {
  const bool in_words = (dst_offset | src_offset | bytes) % word == 0;
  const bool are_few = bytes < few_bytes && device_->limits().compiles_templates;
  if (&to != &from && in_words && !are_few) {
    const std::uint64_t done = copy_fours(to, from, bytes, dst_offset, src_offset);
    if (done == bytes) return;
    return device_->copy(to, dst_offset + done, from, src_offset + done, bytes - done);
  }
  const std::uint64_t most = window_bytes();
  const std::uint64_t alignment = device_->limits().binding_alignment;
  // What a binding holds beside the bytes up to its start and to the end of the last word.
  const std::uint64_t most_at_once = most - 2 * alignment;
  for (std::uint64_t done = 0; done < bytes; done += most_at_once) {
    const std::array<Binding, 2> bindings{binding_around(from, src_offset + done, most, alignment),
                                          binding_around(to, dst_offset + done, most, alignment)};
    const std::uint64_t now = std::min(bytes - done, most_at_once);
    const struct {
      std::uint32_t target_offset, source_offset, bytes;
    } params{static_cast<std::uint32_t>(dst_offset + done - bindings[1].offset),
             static_cast<std::uint32_t>(src_offset + done - bindings[0].offset),
             static_cast<std::uint32_t>(now)};
    run(KernelId::copy_bytes, 0, params, bindings, cover(now / word + 2, group_size),
        [](TemplateVariables& v) { v["GROUP"] = std::int64_t{group_size}; });
  }
}

}  // namespace tilewright::gpu
