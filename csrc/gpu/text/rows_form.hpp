#pragma once

#include <cstdint>
#include <vector>

#include "core/program/program_data.hpp"
#include "gpu/device.hpp"
#include "gpu/text/fold_form.hpp"

namespace tilewright::gpu {

/// What a kernel of rows is made for.
///
/// A workgroup has group / walkers rows: with `by_rows` neighbouring work-items are walkers of one
/// row, else of neighbouring rows. A walker takes four elements at a time: neighbours, or with
/// `apart` those that lie so many as there are walkers apart. With `kept_reads` the first
/// `walkers * unroll` fours of a row are read once, and all are among these unless `walkers` is
/// `group`. An input by places beside others by quads is at one place for all of a four.
///
/// Bindings are those of the operands: inputs, outputs, and end outputs. Parameters are 32-bit
/// words: rows, length; the shape, kept dimensions first; for each operand that is not `none` its
/// start, and its strides, those of `row` and of end outputs along the kept dimensions alone; the
/// numbers of all programs.
struct RowsForm {
  std::vector<Reduction> ops;
  std::vector<ProgramRef> folds;
  ProgramRef elements, ends;  ///< or none
  /// Of each fold and of elements what is the same for a row, which their programs have as their
  /// last inputs; none where nothing is.
  std::vector<ProgramRef> before;
  bool by_rows = true, apart = false, kept_reads = false, params_in_buffer = false;
  std::uint8_t kept = 0, reduced = 0;  ///< dimensions
  std::uint16_t walkers = 1, unroll = 1;
  std::uint32_t group = 0;
  std::vector<FoldOperand> inputs, outputs, end_outputs;

  bool operator==(const RowsForm& other) const;
  std::uint64_t hash() const;
  std::uint32_t bindings() const;
  /// All of them: folds, elements, ends, and what is before folds and elements.
  std::vector<ProgramRef> programs() const;
};

/// All words of parameters.
std::uint32_t rows_params_words(const RowsForm& form);

KernelDescription rows_kernel(const RowsForm& form, KernelLanguage language);

}  // namespace tilewright::gpu
