#include "gpu/text/fold_form.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "gpu/text/program_form.hpp"

namespace tilewright::gpu {

std::uint32_t fold_params_words(const ProgramData& front, const FoldForm& form) {
  const std::uint32_t rank = form.kept + form.reduced;
  std::uint32_t words = 6 + rank;
  const auto count = [&](const std::vector<FoldOperand>& operands, std::uint32_t dims) {
    for (const FoldOperand& o : operands) {
      if (o.walk == FoldWalk::places || o.walk == FoldWalk::quads) words += 1 + dims;
    }
  };
  count(form.inputs, rank);
  count(form.others, form.scan ? rank : form.kept);
  count(form.outputs, form.scan ? rank : form.kept);
  const auto numbers = [&](const ProgramData& program) {
    for (const std::uint32_t number : program.numbers) {
      words += number_words(program.nodes[number].dtype);
    }
  };
  numbers(front);
  if (form.behind) numbers(*form.behind);
  return words;
}

bool FoldForm::operator==(const FoldForm& other) const {
  const auto key = [](const FoldForm& f) {
    return std::tie(f.op, f.identity_of, f.scan, f.exclusive, f.rows, f.leaves_parts, f.takes_parts,
                    f.carried, f.params_in_buffer, f.kept, f.reduced, f.walkers, f.unroll, f.group,
                    f.inputs, f.others, f.outputs, f.parts);
  };
  if (key(*this) != key(other) || (behind == nullptr) != (other.behind == nullptr)) return false;
  return behind == other.behind || *behind == *other.behind;
}

std::uint64_t FoldForm::hash() const {
  std::uint64_t all = behind ? behind->hash : 0;
  const auto mix = [&](std::uint64_t with) {
    all = (all ^ with) * 0x9e3779b97f4a7c15u;
    all ^= all >> 29;
  };
  mix(static_cast<std::uint64_t>(op) | static_cast<std::uint64_t>(identity_of) << 8 |
      std::uint64_t{scan} << 16 | std::uint64_t{exclusive} << 17 | std::uint64_t{rows} << 18 |
      std::uint64_t{leaves_parts} << 19 | std::uint64_t{takes_parts} << 20 |
      std::uint64_t{carried} << 21 | std::uint64_t{params_in_buffer} << 22 |
      std::uint64_t{kept} << 24 | std::uint64_t{reduced} << 32 | std::uint64_t{walkers} << 40 |
      std::uint64_t{unroll} << 56);
  mix(group);
  for (const auto* list : {&inputs, &others, &outputs, &parts}) {
    for (const FoldOperand& o : *list) mix(o.bits());
    mix(list->size());
  }
  return all;
}

std::uint32_t FoldForm::bindings() const {
  std::uint32_t count = 0;
  for (const auto* list : {&inputs, &others, &outputs, &parts}) {
    for (const FoldOperand& o : *list) {
      if (o.walk != FoldWalk::none) count = std::max<std::uint32_t>(count, o.binding + 1u);
    }
  }
  return count;
}

}  // namespace tilewright::gpu
