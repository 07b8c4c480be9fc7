#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/program/program_data.hpp"
#include "gpu/device.hpp"

namespace tilewright::gpu {

/// Writes a kernel in one language or another, statement by statement, in the order of the calls.
///
/// A Word is a number of 32 bits, a Flag is true or false, and a Quad is four values of a class,
/// lanes 0 to 3. All of them are what they are for each work-item, and known in the block that they
/// are made in.
class KernelBuilder {
 public:
  enum class Word : std::uint32_t {};
  enum class Flag : std::uint32_t {};
  enum class Quad : std::uint32_t {};
  enum class Variable : std::uint32_t {};
  enum class Local : std::uint32_t {};
  enum class Arithmetic : std::uint8_t { add, subtract, multiply, divide, remainder };

  struct Operand {
    DType dtype;
    std::uint32_t binding;
    bool quads, writable, written;  ///< written is by this operand, writable the binding
  };
  struct Layout {
    std::string_view name;
    std::uint32_t group, words;
    bool params_in_buffer;
    DType variables;  ///< what variables are of, besides uint32
    std::span<const Operand> operands;
  };

  virtual ~KernelBuilder() = default;

  virtual Word word(std::uint32_t value) = 0;
  /// The next parameter.
  virtual Word parameter() = 0;
  virtual Word group() = 0;
  virtual Word local() = 0;
  virtual Word arithmetic(Arithmetic op, Word a, Word b) = 0;
  virtual Flag less(Word a, Word b) = 0;
  virtual Flag both(Flag a, Flag b) = 0;
  virtual Word select(Flag flag, Word a, Word b) = 0;
  virtual void when(Flag flag, const std::function<void()>& body) = 0;
  /// For first, first + step and so on below `end`.
  virtual void loop(Word first, Word end, Word step, const std::function<void(Word)>& body) = 0;

  /// All lanes the same.
  virtual Quad quad(Word word) = 0;
  virtual Quad constant(DType dtype, std::uint64_t class_bits) = 0;
  /// 0, 1, 2, 3, of uint32.
  virtual Quad lanes() = 0;
  /// An elementwise op of quads of the class of `dtype`, for an op that gives `result`.
  virtual Quad apply(ElementOp op, DType dtype, DType result, std::span<const Quad> operands) = 0;
  /// Of add, sub, mul or div where nobody says the order, or the last digit of a quotient:
  /// compilers may join it with what it is made of.
  virtual Quad joined(ElementOp op, DType dtype, Quad a, Quad b) {
    const std::array<Quad, 2> both{a, b};
    return apply(op, dtype, dtype, both);
  }
  /// Whether floats have keys: numbers of uint32 of which the largest is that of the largest float,
  /// or with `least` of the least one. That of NaN is above all others, and 0 that of an identity.
  virtual bool has_keys(DType /*dtype*/) const { return false; }
  virtual Quad key_of(Quad value, bool /*least*/) { return value; }
  virtual Quad of_key(Quad key, bool /*least*/) { return key; }
  /// Lane i of the result is lane (i + by) % 4.
  virtual Quad rotated(Quad quad, std::uint32_t by) = 0;
  /// Lane i is lane i - by, or of `fill` where there is none.
  virtual Quad shifted(Quad quad, std::uint32_t by, Quad fill) = 0;
  /// All lanes what one is.
  virtual Quad spread(Quad quad, std::uint32_t lane) = 0;

  /// Of quads.
  virtual Variable variable(DType dtype, Quad start) = 0;
  virtual Quad get(Variable variable) = 0;
  virtual void set(Variable variable, Quad value) = 0;

  /// Memory of the workgroup, for one value each.
  virtual Local local_array(DType dtype, std::uint32_t count) = 0;
  virtual Quad local_load(Local array, Word at) = 0;               ///< in all lanes
  virtual void local_store(Local array, Word at, Quad value) = 0;  ///< lane 0
  virtual void barrier() = 0;

  /// Its numbers come from the next parameters.
  virtual void program(std::uint32_t which, const ProgramData& program) = 0;
  /// Of a program that was given, what its inputs that are needed make of it.
  virtual std::vector<Quad> compute(std::uint32_t which, std::span<const Quad> inputs) = 0;

  virtual Quad read_quad(std::size_t operand, Word place) = 0;  ///< a multiple of 4
  virtual Quad read(std::size_t operand, Quad places) = 0;
  virtual void write_quad(std::size_t operand, Word place, Quad value, Quad ours) = 0;
  virtual void write(std::size_t operand, Quad places, Quad value, Quad ours) = 0;
  virtual void write_one(std::size_t operand, Word place, Quad value) = 0;  ///< lane 0

  virtual KernelDescription finish() = 0;
};

std::unique_ptr<KernelBuilder> wgsl_builder(const KernelBuilder::Layout& layout);
std::unique_ptr<KernelBuilder> spirv_builder(const KernelBuilder::Layout& layout);

}  // namespace tilewright::gpu
