#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/program/program_data.hpp"
#include "gpu/device.hpp"

namespace tilewright::gpu {

/// Where the kernel of a reduction or scan has an operand.
enum class FoldWalk : std::uint8_t {
  none,    ///< nowhere: an input that no output needs
  places,  ///< at start + the sum of the indices times the strides, element by element
  quads,   ///< the same, four neighbours along the innermost reduced dimension at a time, each four
           ///< of which lie on their own size
  parts,   ///< of what another launch left: at k * results + the number of the result
  row,     ///< of rows: at start + the sum of the kept indices times the strides, for all elements
};

struct FoldOperand {
  DType dtype = DType::float32;
  FoldWalk walk = FoldWalk::none;
  std::uint8_t binding = 0;
  bool writable = false;

  bool operator==(const FoldOperand&) const = default;
  std::uint64_t bits() const {
    return static_cast<std::uint64_t>(dtype) | static_cast<std::uint64_t>(walk) << 8 |
           std::uint64_t{binding} << 16 | std::uint64_t{writable} << 24;
  }
};

/// What a kernel of a reduction or scan is made for, besides its front program.
///
/// A workgroup has group / walkers results, and joins one piece of what is reduced to each: with
/// `rows` neighbouring work-items are walkers of one result, else walkers of neighbouring results.
/// A walker takes four elements at a time: neighbours, or of reductions of which no input is read
/// by quads those that lie as far apart as there are walkers. Workgroup g is that of results g %
/// blocks * (group / walkers) on, and of piece g / blocks.
///
/// Bindings are those of the operands: front's inputs, behind's but the first, the outputs (of a
/// launch that leaves parts the value, or the value and the place; moments are five values side by
/// side), and then of parts: the places
/// that a launch is given, or what a piece of a scan starts with.
///
/// Parameters are 32-bit words: results, length, elements of a piece, blocks; the number of the
/// first part that is left and what is added to places; the shape, kept dimensions first; for each
/// operand with walks by strides its start, and its strides, behind's and outputs of reductions
/// along the kept dimensions alone; the numbers of front, and of behind.
struct FoldForm {
  Reduction op = Reduction::sum;
  DType identity_of = DType::float32;  ///< the dtype that an empty join is an element of
  bool scan = false, exclusive = false;
  bool rows = true;
  bool leaves_parts = false;  ///< outputs are parts, and no program is behind
  bool takes_parts = false;   ///< front's input is parts, the shape has no reduced dimensions
  bool carried = false;       ///< a scan's pieces start with what is before them
  bool params_in_buffer = false;
  std::uint8_t kept = 0, reduced = 0;  ///< dimensions
  std::uint16_t walkers = 1, unroll = 1;
  std::uint32_t group = 0;
  std::vector<FoldOperand> inputs, others, outputs, parts;
  ProgramRef behind;

  bool finds_place() const { return op == Reduction::argmax || op == Reduction::argmin; }
  bool finds_moments() const { return op == Reduction::moments; }
  bool operator==(const FoldForm& other) const;
  std::uint64_t hash() const;
  std::uint32_t bindings() const;
};

/// All words of parameters.
std::uint32_t fold_params_words(const ProgramData& front, const FoldForm& form);

KernelDescription fold_kernel(const ProgramData& front, const FoldForm& form,
                              KernelLanguage language);

}  // namespace tilewright::gpu
