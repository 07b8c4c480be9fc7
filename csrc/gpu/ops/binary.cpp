#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>

#include "core/program/program_data.hpp"
#include "gpu/backend.hpp"
#include "gpu/plan.hpp"

namespace tilewright::gpu {

namespace {

enum class Form : std::uint32_t { plain, scalar_a, scalar_b, strided };
constexpr const char* form_names[] = {"plain", "scalar_a", "scalar_b", "strided"};

/// Dimensions that its own kernel walks, once those that both inputs walk as one are merged.
constexpr std::size_t most_walked = 8;

Form form_of(const BinaryRequest& r) {
  if (r.rank != 1) return Form::strided;
  if (r.a_strides[0] == 1 && r.b_strides[0] == 1) return Form::plain;
  if (r.a_strides[0] == 0 && r.b_strides[0] == 1) return Form::scalar_a;
  if (r.a_strides[0] == 1 && r.b_strides[0] == 0) return Form::scalar_b;
  return Form::strided;
}

/// The same as a program, which walks any number of dimensions.
MapRequest as_program(const BinaryRequest& r) {
  Program program;
  const auto a = program.input(r.dtype), b = program.input(r.dtype);
  program.output(program.apply(to_string(r.op), {a, b}));
  MapRequest m;
  m.program = program.data();
  m.n = r.n;
  m.rank = r.rank;
  for (const BufferRange* range : {&r.a, &r.b, &r.output}) {
    m.operands.push_back({range->allocation, static_cast<Size>(range->offset / size_of(r.dtype))});
  }
  for (const BufferRange* input : {&r.a, &r.b}) {
    m.same_as.push_back(*input == r.output ? 0 : MapRequest::no_output);
  }
  for (const auto* list : {&r.shape, &r.a_strides, &r.b_strides}) {
    m.sizes.insert(m.sizes.end(), list->begin(), list->begin() + r.rank);
  }
  std::array<Size, max_rank> dense;
  Size step = 1;
  for (std::size_t i = r.rank; i-- > 0; step *= r.shape[i]) dense[i] = step;
  m.sizes.insert(m.sizes.end(), dense.begin(), dense.begin() + r.rank);
  return m;
}

Size reach(const BinaryRequest& r, const std::array<Size, max_rank>& strides) {
  Size last = 0;
  for (std::size_t i = 0; i < r.rank; ++i) last += (r.shape[i] - 1) * strides[i];
  return last + 1;
}

}  // namespace

void GpuBackend::launch_binary(const BinaryRequest& r) {
  require("binary", r.dtype);
  if (r.rank > most_walked) return launch_map(as_program(r));
  const Form form = form_of(r);
  const bool a_is_output = r.a == r.output;
  const bool b_is_output = r.b == r.output;
  const std::uint32_t variant =
      ((static_cast<std::uint32_t>(r.op) * 4 + static_cast<std::uint32_t>(form)) * 16 +
       static_cast<std::uint32_t>(r.rank)) *
          8 +
      half_bit(r.dtype) * 4 + (a_is_output ? 2 : 0) + (b_is_output ? 1 : 0);
  const auto fill = [&](TemplateVariables& v) {
    set_common(v, r.dtype);
    v["GROUP"] = std::int64_t{elementwise_group_};
    v["OP"] = std::string(to_string(r.op));
    v["VECTORS"] = std::int64_t{vectors_of_item(r.dtype)};
    v["FORM"] = form_names[static_cast<std::size_t>(form)];
    v["RANK"] = static_cast<std::int64_t>(r.rank);
    v["A_IS_OUTPUT"] = std::int64_t{a_is_output};
    v["B_IS_OUTPUT"] = std::int64_t{b_is_output};
  };
  std::array<Binding, 3> bindings;
  std::size_t count = 0;
  const auto add = [&](const Binding& binding) { bindings[count++] = binding; };
  const auto all = [&] { return std::span<const Binding>(bindings).first(count); };
  if (form == Form::strided) {
    std::array<std::uint32_t, 2 + 3 * most_walked> values;
    std::size_t words = 0;
    values[words++] = u32(r.n);
    values[words++] = 0;
    for (const auto* list : {&r.shape, &r.a_strides, &r.b_strides}) {
      for (std::size_t i = 0; i < r.rank; ++i) values[words++] = u32((*list)[i]);
    }
    if (!a_is_output) add(bind("binary", r.a, bytes_of(reach(r, r.a_strides), r.dtype)));
    if (!b_is_output) add(bind("binary", r.b, bytes_of(reach(r, r.b_strides), r.dtype)));
    add(bind("binary", r.output, bytes_of(r.n, r.dtype)));
    const Pipeline& pipeline = kernel(KernelId::binary, variant, fill);
    device_->launch({&pipeline, all(), std::as_bytes(std::span(values).first(words)),
                     cover(static_cast<std::uint64_t>(r.n), elementwise_group_)});
    return;
  }
  for_windows(r.n, r.dtype, [&](std::uint64_t offset, Size n) {
    count = 0;
    if (!a_is_output) add(window(r.a, form == Form::scalar_a ? 0 : offset));
    if (!b_is_output) add(window(r.b, form == Form::scalar_b ? 0 : offset));
    add(elements(r.output, offset, n, r.dtype));
    run_elements(KernelId::binary, variant, n, all(), 4 * vectors_of_item(r.dtype), fill);
  });
}

}  // namespace tilewright::gpu
