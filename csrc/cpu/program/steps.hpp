#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/program/program_data.hpp"
#include "core/requests.hpp"
#include "cpu/kernels/program_table.hpp"
#include "cpu/kernels/registers.hpp"

namespace tilewright::cpu {

constexpr std::size_t index(DType dtype) { return static_cast<std::size_t>(dtype); }
constexpr std::size_t index(ComputeClass kind) { return static_cast<std::size_t>(kind); }
/// Of an element in a register.
std::size_t bytes_of(ComputeClass kind);

/// A program as loops over registers, for blocks of elements.
struct ProgramSteps {
  static constexpr std::uint32_t nothing = ~std::uint32_t{0};

  /// What is made of one operand where the other one is the same for many elements.
  enum class Affine : std::uint8_t { no, sum, difference, product };

  /// A loop, and the registers it works on.
  struct Step {
    ProgramLoop loop = nullptr, wrap = nullptr;
    ProgramLoop streamed = nullptr;   ///< the loop for a result that goes past the caches, or null
    const RowsLoops* rows = nullptr;  ///< the loops of rows, or null
    RowsLoop with_fixed = nullptr;    ///< that of them which takes what is fixed as it is, or null
    Affine affine = Affine::no;       ///< of float32
    bool feeds_next = false;          ///< whether the next step alone reads the result, and once
    std::array<std::uint32_t, 3> operands;
    std::uint32_t node, result;
    std::uint32_t output;                 ///< that the result can be written to at once, or nothing
    std::uint32_t results = 1;            ///< registers, one behind the other
    std::array<std::uint8_t, 3> bytes{};  ///< of an element of each operand
  };
  struct Input {
    std::uint32_t operand, result;
    DType dtype;
    bool copied;  ///< since outputs are written from it and to it
  };
  struct Output {
    std::uint32_t operand, from;
    DType dtype;
  };
  struct Fixed {
    std::uint32_t result;
    DType dtype;
    std::uint64_t bits;
    std::uint32_t number = nothing;  ///< of the call that it is, or nothing for a constant

    std::uint64_t of(std::span<const std::uint64_t> numbers) const {
      return number == nothing ? bits : numbers[number];
    }
    /// Fills a register.
    void fill(std::byte* to, std::span<const std::uint64_t> numbers) const;
  };

  std::vector<Fixed> fixed;  ///< filled once
  std::vector<Input> inputs;
  std::vector<Step> steps;
  std::vector<Output> outputs;
  std::uint32_t registers = 0;
};

/// Elements that are worth a thread: fewer where each is a block of random words.
std::size_t grain_of(const ProgramSteps& steps);

/// same_as says of each input which output it is, or MapRequest::no_output; it may be empty where
/// none is.
ProgramSteps plan_steps(const ProgramData& data, std::span<const std::uint32_t> same_as);

/// What plan_steps() gives. Those of the programs that ran last are kept, but where an input is an
/// output. Any thread may ask.
class StepPlans {
 public:
  std::shared_ptr<const ProgramSteps> of(const std::shared_ptr<const ProgramData>& program,
                                         std::span<const std::uint32_t> same_as);

 private:
  struct Plan {
    std::shared_ptr<const ProgramData> program;
    std::shared_ptr<const ProgramSteps> steps;
  };
  std::mutex mutex_;
  std::array<Plan, 64> plans_;
};

}  // namespace tilewright::cpu
