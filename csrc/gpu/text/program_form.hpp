#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/program/program_data.hpp"
#include "gpu/device.hpp"
#include "gpu/text/fold_form.hpp"
#include "gpu/text/rows_form.hpp"

namespace tilewright::gpu {

/// Of the layout `tiles`, and how many of its operands go through workgroup memory at most.
inline constexpr std::uint32_t tile_side = 32, tile_group = 256, most_staged = 3;

/// How the work-items of a program's kernel share out the elements. The walk is row by row through
/// the shape of the launch; i counts its elements, and a quad is four of them in a row.
enum class Layout : std::uint8_t {
  /// No shape. A work-item makes `vectors` quads, `group` quads apart, and reads all of them before
  /// it uses the first: workgroup g has the quads from g * group * vectors on. What is behind the
  /// last element is not the launch's to write.
  flat,
  /// A work-item makes `vectors` quads, `group` quads apart. The size of the innermost dimension is
  /// a
  /// multiple of 4, so a quad lies in one row.
  rows,
  /// A work-item makes the elements 4 * item - shift + (0, 1, 2, 3), those of them that are in
  /// [0, n), each with a place of its own.
  split,
  /// A work-item makes `vectors` elements, `group` elements apart.
  single,
  /// In WGSL alone. A workgroup makes a tile of tile_side x tile_side elements, of dimension
  /// `across`
  /// and the innermost one, tiles innermost first by these and then by the others.
  tiles,
};

/// Where an operand has the element i. `start` and strides are parameters, in elements.
enum class Walk : std::uint8_t {
  /// No output needs this input: no binding and no parameters.
  none,
  /// At start, for all: an input.
  one,
  /// Whole quads, each of which lies on its own size, so that one access has it. flat and split: at
  /// start + i, where start is a multiple of 4, of split start - shift. rows: as `places`.
  quads,
  /// rows alone, an input: as `places`, and the same for all of a quad.
  row,
  /// At start + the sum of the indices times the strides.
  places,
  /// tiles alone, an input: as `places`, and neighbours along `across` are read side by side,
  /// through
  /// workgroup memory.
  staged,
  /// As `places`, an output of 1 or 2 bytes: its words have elements of other work-items, so this
  /// one puts its bits in by atomics. Never on a device that stores_bytes.
  shared,
};

struct OperandForm {
  Walk walk = Walk::none;
  std::uint8_t binding = 0;  ///< an input that is an output in place has the output's
  bool writable = false;     ///< its binding is: an output's, or of a buffer that has an output too

  bool operator==(const OperandForm&) const = default;
};

/// What a kernel of a program is made for, besides the program.
///
/// The kernel has one binding for each number in `operands`, then, with params_in_buffer, one that
/// is read: the parameters. Bindings hold less than 4 GiB, so places are counted in 32 bits, and
/// negative strides are added as they are. The item of a work-item is
/// (group.x + group.y * groups.x) * group * vectors + its place in the workgroup; those past the
/// end do nothing.
///
/// Parameters are 32-bit words, in this order:
///   n             elements of the launch; without it where `counted`
///   shift         split alone, 0 to 3
///   shape         `rank` words, outermost first; none of flat
///   then for each operand that is not `none`, inputs before outputs:
///     start       unless `flat` without `starts`
///     strides     `rank` words, of layouts but flat, where the walk is row, places, staged or
///                 shared, and of `quads` in rows
///   then for each number of the program: its value as its class has it (number_words), the lower
///   word of two first.
/// A value is computed as ComputeClass says: integers of 8 and 16 bits wrap after each op and cast;
/// cast() to float16 and bfloat16 rounds, and stays in float32.
struct ProgramForm {
  Layout layout = Layout::flat;
  std::uint8_t rank = 0;
  std::uint8_t vectors = 1;       ///< of flat, and in WGSL of rows and single
  std::uint8_t across = 0;        ///< of tiles
  bool counted = false;           ///< flat: n is 4 * the quads in the binding of the first output,
                                  ///< and there are no parameters
  bool starts = false;            ///< flat: operands do not all start where their bindings do
  bool params_in_buffer = false;  ///< more parameters than a launch takes
  std::uint32_t group = 0;        ///< work-items of a workgroup
  std::vector<OperandForm> operands;  ///< inputs, then outputs

  /// Of a launch for several groups of operands, each of which has its own workgroups: how many.
  /// The layout is flat, and `operands` has those of each group. Parameters are, for each group,
  /// the number of its first workgroup, n, and with `starts` a start for each operand that is not
  /// `none`; then the numbers.
  std::uint32_t groups = 0;

  /// Of a reduction or scan, whose front the program is: all else of this form is not used then.
  std::shared_ptr<const FoldForm> fold;
  /// The same of rows, whose first fold the program is.
  std::shared_ptr<const RowsForm> in_rows;

  bool operator==(const ProgramForm& other) const;
  std::uint64_t hash() const;

  /// Bindings of operands.
  std::uint32_t bindings() const;
  bool has_start(const OperandForm& operand) const {
    return operand.walk != Walk::none && (layout != Layout::flat || starts);
  }
  bool has_strides(const OperandForm& operand) const {
    if (layout == Layout::flat) return false;
    if (operand.walk == Walk::quads) return layout == Layout::rows;
    return operand.walk == Walk::row || operand.walk == Walk::places ||
           operand.walk == Walk::staged || operand.walk == Walk::shared;
  }
};

/// An element's bits as a value of its dtype's class: integers with their sign, bool as 0 or 1,
/// small floats as float32.
std::uint64_t class_bits(DType dtype, std::uint64_t bits);
/// 32-bit words of a value.
inline std::uint32_t number_words(DType dtype) {
  const ComputeClass kind = class_of(dtype);
  return kind == ComputeClass::i64 || kind == ComputeClass::u64 || kind == ComputeClass::f64 ? 2
                                                                                             : 1;
}
/// Those of all numbers of a program.
std::uint32_t number_words(const ProgramData& program);
/// All words of parameters.
std::uint32_t params_words(const ProgramData& program, const ProgramForm& form);

/// The dtype of an operand: the inputs, then the outputs.
inline DType operand_dtype(const ProgramData& program, std::size_t operand) {
  const std::size_t inputs = program.inputs.size();
  return program
      .nodes[operand < inputs ? program.inputs[operand] : program.outputs[operand - inputs]]
      .dtype;
}

/// Unsupported where a kernel of this language cannot compute an op in its dtype.
KernelDescription program_kernel(const ProgramData& program, const ProgramForm& form,
                                 KernelLanguage language);
KernelDescription wgsl_groups(const ProgramData& program, const ProgramForm& form);
KernelDescription spirv_groups(const ProgramData& program, const ProgramForm& form);
KernelDescription wgsl_program(const ProgramData& program, const ProgramForm& form);
KernelDescription spirv_program(const ProgramData& program, const ProgramForm& form);

}  // namespace tilewright::gpu
