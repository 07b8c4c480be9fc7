#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/call.hpp"
#include "core/requests.hpp"

namespace tilewright {

/// A program over groups of operands whose elements lie side by side. No group is empty.
struct MapManyRequest {
  std::shared_ptr<const ProgramData> program;
  std::vector<Size> lengths;                  ///< of each group
  std::vector<MapRequest::Operand> operands;  ///< of each group the inputs, then the outputs
  std::vector<std::uint64_t> numbers;         ///< bits as elements of their dtypes
  /// For each input of each group, the output of its group that it is, or no_output.
  std::vector<std::uint32_t> same_as;

  /// By this supports() asks, of small buffers x.
  static void ask(auto& be, const auto& q) {
    Program program;
    program.output(program.input(q.dtype));
    const std::array<MapOperand, 4> x{q.x[0], q.x[1], q.x[2], q.x[3]};
    const std::span<const MapOperand> all(x);
    const std::array<MapGroup, 2> groups{MapGroup{8, all.subspan(0, 1), all.subspan(1, 1)},
                                         MapGroup{5, all.subspan(2, 1), all.subspan(3, 1)}};
    be.map_many(program, groups, {});
  }
};

std::optional<MapManyRequest> checked_map_many(const Call& call, const Program& program,
                                               std::span<const MapGroup> groups,
                                               std::span<const Number> numbers);

}  // namespace tilewright
