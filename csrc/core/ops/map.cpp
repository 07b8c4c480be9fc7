#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/call.hpp"
#include "core/call_key.hpp"
#include "core/kept_requests.hpp"
#include "core/map_operands.hpp"
#include "core/program/program_data.hpp"
#include "core/text.hpp"
#include "tilewright/backend.hpp"

namespace tilewright {

namespace {

/// Dimensions of the shape in the order in which the first output lies in memory, those of one
/// element left out.
std::size_t order_dimensions(std::span<const Size> shape, std::span<const Size> strides,
                             std::array<std::size_t, max_rank>& order) {
  std::size_t rank = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1) order[rank++] = i;
  }
  const auto size = [&](std::size_t i) { return strides[i] < 0 ? -strides[i] : strides[i]; };
  const auto further = [&](std::size_t a, std::size_t b) { return size(a) > size(b); };
  // As they mostly are: sorting takes memory of its own.
  if (!std::is_sorted(order.begin(), order.begin() + rank, further)) {
    std::stable_sort(order.begin(), order.begin() + rank, further);
  }
  return rank;
}

/// An operand in bytes: where its first element starts, how long each is, and its strides.
struct Steps {
  Size start, item;
  std::span<const Size> strides;  // in elements
};

/// Whether elements lie among each other without a byte in common, as the parts of complex numbers
/// do: within the pitch that all steps are multiples of, each has its own place.
bool interleaved(const Steps& a, const Steps& b, std::span<const Size> shape) {
  Size pitch = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    pitch = std::gcd(pitch, std::gcd(a.strides[i] * a.item, b.strides[i] * b.item));
  }
  if (pitch == 0) return false;
  const Size behind = ((b.start - a.start) % pitch + pitch) % pitch;
  return behind >= a.item && behind + b.item <= pitch;
}

/// What a request follows from besides its buffers and numbers; none where that is too much to keep
/// it.
std::optional<CallKey> key_of(const ProgramData& program, std::span<const Size> shape,
                              std::span<const MapOperand> inputs,
                              std::span<const MapOperand> outputs) {
  if (inputs.size() + outputs.size() > KeptRequest<MapRequest>::most_operands ||
      shape.size() > max_rank || outputs.empty()) {
    return std::nullopt;
  }
  CallKey key;
  key.add(reinterpret_cast<std::uintptr_t>(&program));
  key.add(shape.size());
  for (const Size size : shape) key.add(size);
  for (const auto list : {inputs, outputs}) {
    for (const MapOperand& operand : list) {
      key.add(operand.strides.size());
      for (const Size stride : operand.strides) key.add(stride);
    }
  }
  if (!key.fits()) return std::nullopt;
  key.seal();
  return key;
}

const Names input_names("inputs"), output_names("outputs"), number_names("map: numbers");

}  // namespace

void Backend::map(const Program& program, std::span<const Size> shape,
                  std::span<const MapOperand> inputs, std::span<const Number> numbers,
                  std::span<const MapOperand> outputs) {
  Call call(*state_, "map");
  const ProgramData& data = *program.data();
  const std::size_t count = inputs.size() + outputs.size();
  const auto operand = [&](std::size_t i) -> const MapOperand& {
    return i < inputs.size() ? inputs[i] : outputs[i - inputs.size()];
  };
  const auto named = [&](std::size_t i) {
    std::string made;  // of more operands than are kept
    const bool is_input = i < inputs.size();
    return std::pair<std::string_view, const MapOperand&>(
        is_input ? input_names.of(i, made) : output_names.of(i - inputs.size(), made), operand(i));
  };
  const bool has_all = inputs.size() == data.inputs.size() &&
                       numbers.size() == data.numbers.size() &&
                       outputs.size() == data.outputs.size();
  const std::optional<CallKey> key = has_all ? key_of(data, shape, inputs, outputs) : std::nullopt;
  if (auto* const known = key ? state_->kept_maps.find(*key) : nullptr) {
    const UsedRequest used(*known);
    if (known->fill(call, named)) {
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        std::string made;
        known->request.numbers[i] =
            numbers[i].bits(data.nodes[data.numbers[i]].dtype, number_names.of(i, made));
      }
      call.checked();
      return do_map(known->request);
    }
  }
  const auto counted = [&](std::string_view what, std::size_t given, std::size_t expected) {
    if (given != expected) {
      call.invalid(text("the program has ", expected, " ", what, ", and ", given, " are given"));
    }
  };
  counted("inputs", inputs.size(), data.inputs.size());
  counted("numbers", numbers.size(), data.numbers.size());
  counted("outputs", outputs.size(), data.outputs.size());
  if (outputs.empty()) call.invalid("the program has no output; give it one with output()");
  call.shape("shape", shape);
  const Size n = call.product(shape);

  MapRequest r;
  r.program = program.data();
  r.n = n;
  r.numbers.reserve(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::string made;
    r.numbers.push_back(
        numbers[i].bits(data.nodes[data.numbers[i]].dtype, number_names.of(i, made)));
  }
  const RowStrides rows(shape);
  const auto strides_of = [&](const MapOperand& operand) { return rows.of(operand); };
  r.operands.reserve(count);
  std::array<OperandReach, KeptRequest<MapRequest>::most_operands> reaches;
  std::array<Place, 8> few;
  std::vector<Place> many(count > few.size() ? count : 0);
  const std::span<Place> places = many.empty() ? std::span<Place>(few) : std::span(many);
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_input = i < inputs.size();
    const std::size_t at = is_input ? i : i - inputs.size();
    const MapOperand& operand = is_input ? inputs[at] : outputs[at];
    const DType dtype = data.nodes[is_input ? data.inputs[at] : data.outputs[at]].dtype;
    std::string made;
    const std::string_view name = (is_input ? input_names : output_names).of(at, made);
    const auto checked = check_operand(call, name, operand, shape, rows, dtype, !is_input);
    if (!checked) continue;
    r.operands.push_back(checked->operand);
    places[i] = checked->place;
    if (i < reaches.size()) reaches[i] = OperandReach::of(*checked, dtype);
  }
  if (n == 0) return;

  const auto dtype_of = [&](std::size_t i) {
    return data.nodes[i < inputs.size() ? data.inputs[i] : data.outputs[i - inputs.size()]].dtype;
  };
  const auto walks_as = [&](std::size_t a, std::size_t b) {
    const auto strides = [&](std::size_t i) {
      return strides_of(i < inputs.size() ? inputs[i] : outputs[i - inputs.size()]);
    };
    if (r.operands[a].offset != r.operands[b].offset) return false;
    if (size_of(dtype_of(a)) != size_of(dtype_of(b))) return false;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] != 1 && strides(a)[i] != strides(b)[i]) return false;
    }
    return true;
  };
  const auto steps = [&](std::size_t i) {
    const auto item = static_cast<Size>(size_of(dtype_of(i)));
    return Steps{r.operands[i].offset * item, item,
                 strides_of(i < inputs.size() ? inputs[i] : outputs[i - inputs.size()])};
  };
  const auto meet = [&](std::size_t a, std::size_t b) {
    return r.operands[a].allocation == r.operands[b].allocation && places[a].meets(places[b]) &&
           !interleaved(steps(a), steps(b), shape);
  };
  const auto shown = [&](std::size_t i) {
    return text(i < inputs.size() ? "inputs[" : "outputs[",
                i < inputs.size() ? i : i - inputs.size(), "] (bytes ", places[i].first, " to ",
                places[i].past, ")");
  };
  r.same_as.assign(inputs.size(), MapRequest::no_output);
  for (std::size_t o = inputs.size(); o < count; ++o) {
    for (std::size_t i = 0; i < o; ++i) {
      if (!meet(i, o)) continue;
      if (i >= inputs.size()) {
        call.invalid(text(shown(o), " overlaps ", shown(i), "; outputs must be apart"));
      }
      if (!walks_as(i, o)) {
        call.invalid(text(shown(o), " overlaps ", shown(i),
                          " and does not have its offset, strides and size of element; write to "
                          "another buffer"));
      }
      r.same_as[i] = static_cast<std::uint32_t>(o - inputs.size());
    }
  }
  call.checked();

  std::array<std::size_t, max_rank> order;
  const std::size_t dims = order_dimensions(shape, strides_of(outputs[0]), order);
  const auto stride = [&](std::size_t operand, std::size_t dim) {
    return strides_of(operand < inputs.size() ? inputs[operand]
                                              : outputs[operand - inputs.size()])[dim];
  };
  // Which dimensions each of those that are left joins: [first, past) of the order.
  std::array<std::size_t, max_rank> last;
  std::array<Size, max_rank> joined;
  for (std::size_t d = 0; d < dims; ++d) {
    const std::size_t dim = order[d];
    const auto follows = [&] {
      if (r.rank == 0) return false;
      const std::size_t before = last[r.rank - 1];
      for (std::size_t i = 0; i < count; ++i) {
        if (stride(i, before) != stride(i, dim) * shape[dim]) return false;
      }
      return true;
    };
    if (d > 0 && follows()) {
      last[r.rank - 1] = dim;
      joined[r.rank - 1] *= shape[dim];
    } else {
      last[r.rank] = dim;
      joined[r.rank++] = shape[dim];
    }
  }
  if (r.rank == 0) {
    r.rank = 1;
    r.sizes.assign(1 + count, 1);
  } else {
    r.sizes.reserve((1 + count) * r.rank);
    r.sizes.assign(joined.begin(), joined.begin() + r.rank);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t d = 0; d < r.rank; ++d) r.sizes.push_back(stride(i, last[d]));
    }
  }
  if (key &&
      std::ranges::all_of(r.same_as, [](auto one) { return one == MapRequest::no_output; })) {
    keep_request(state_->mutex, state_->kept_maps, *key, [&](KeptRequest<MapRequest>& kept) {
      kept.programs[0] = program.data();
      kept.request = r;
      kept.reaches = reaches;
      kept.count = count;
      kept.outputs = outputs.size();
    });
  }
  do_map(r);
}

}  // namespace tilewright
