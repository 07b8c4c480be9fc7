#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/row_parts.hpp"
#include "cpu/backend.hpp"
#include "cpu/elements.hpp"
#include "cpu/ops/fold.hpp"
#include "cpu/ops/reducer.hpp"
#include "cpu/ops/row_norm.hpp"
#include "cpu/ops/row_reader.hpp"
#include "cpu/program/run.hpp"
#include "cpu/scratch.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

/// Elements that are walked once for each program: rows of a thread go from fold to fold while they
/// are in the caches.
constexpr std::size_t many_elements = std::size_t{1} << 16;

/// A program on the elements of rows.
struct RowStep {
  RowStep(MapRequest given, const RowsRequest::Step& step, StepPlans& plans)
      : request(std::move(given)), steps(plans.of(step.program, request.same_as)) {}

  std::size_t floats() const {
    return Scratch::rounded((steps->registers + 1) * register_bytes / sizeof(float));
  }

  MapRequest request;
  std::shared_ptr<const ProgramSteps> steps;
};

/// A fold of whole rows.
struct RowFoldStep : RowStep {
  RowFoldStep(const RowsRequest& r, std::size_t i, const AllocationRef& found, StepPlans& plans)
      : RowFoldStep(fold_of(r, i, found), r.folds[i], r.inputs + i, plans) {}
  RowFoldStep(FoldRequest given, const RowsRequest::Step& step, std::size_t operands,
              StepPlans& plans)
      : RowStep(request_front(given, false, operands), step, plans),
        fold(std::move(given)),
        joiner(fold) {}

  FoldRequest fold;
  Joiner joiner;
};

/// Rows of float32 one behind the other, of which a fold sums what is off a number: exp() of it, as
/// softmaxes do, or its square, as norms do. The number is what another fold found, times a factor.
struct OffRows {
  const float* rows;
  std::size_t found;
  float factor;
  bool is_square;

  double sum(std::size_t row, std::size_t length, const float* found_of_rows) const {
    const float* const x = rows + row * length;
    const float centre = found_of_rows[row] * factor;
    if (is_square) return kernels().float32.deviations(x, length, centre).squares;
    return kernels().float32.sum_of_exp(x, length, centre);
  }
};

/// What a fold sums of the first operand less a number of the row.
std::optional<OffRows> off_rows_of(const RowsRequest& r, const MapRequest& front) {
  const RowReader program(*front.program, r.inputs);
  const std::uint32_t last = front.program->outputs[0];
  OffRows found{nullptr, 0, 1, false};
  const std::uint32_t* const power = program.of(last, ElementOp::exp_);
  const std::uint32_t* const square = program.of(last, ElementOp::mul_);
  if (power == nullptr && (square == nullptr || square[0] != square[1])) return {};
  found.is_square = power == nullptr;
  const std::uint32_t* const off =
      program.of(found.is_square ? square[0] : power[0], ElementOp::sub_);
  if (off == nullptr || program.operand(off[0]) != std::size_t{0}) return {};
  std::uint32_t centre = off[1];
  if (const std::uint32_t* const product = program.of(centre, ElementOp::mul_)) {
    const std::optional<float> factor = program.number(product[1], front.numbers);
    if (!factor) return {};
    found.factor = *factor;
    centre = product[0];
  }
  while (found.found < r.folds.size() && !program.is_found(centre, found.found)) ++found.found;
  if (found.found == r.folds.size()) return {};
  Size step = 1;
  for (std::size_t d = front.rank; d-- > 0; step *= front.shape()[d]) {
    if (front.strides(0)[d] != step) return {};
  }
  const MapRequest::Operand& operand = front.operands[0];
  found.rows = data<float>(operand.allocation) + operand.offset;
  return found;
}

/// Whether neighbouring elements of a row lie far apart, or rows are too few for the threads.
bool goes_by_passes(const RowsRequest& r, const FoldRequest& first) {
  if (walks_columns(first, 16)) return true;
  const auto rows = static_cast<std::size_t>(r.results),
             length = static_cast<std::size_t>(r.length);
  return thread_count() > 1 && rows < 2 * thread_count() && length >= many_elements;
}

/// Makes a dimension the last one: elements are the same in any order.
void walk_last(MapRequest& r, std::size_t dimension) {
  for (std::size_t at = 0; at < r.sizes.size(); at += r.rank) {
    const auto first = r.sizes.begin() + static_cast<std::ptrdiff_t>(at);
    std::rotate(first + static_cast<std::ptrdiff_t>(dimension),
                first + static_cast<std::ptrdiff_t>(dimension) + 1,
                first + static_cast<std::ptrdiff_t>(r.rank));
  }
}

}  // namespace

void CpuBackend::do_map_rows(const RowsRequest& r) {
  if (takes_row_norm(r)) return;
  const auto rows = static_cast<std::size_t>(r.results),
             length = static_cast<std::size_t>(r.length);
  const std::size_t size = size_of(r.found());
  const AllocationRef found = memory_->scratch(r.call, r.folds.size() * rows * size);
  // This op is one of a profile and of a recording, whatever it is made of.
  const FoldRequest first = fold_of(r, 0, found);
  if (goes_by_passes(r, first)) {
    for (std::size_t i = 0; i < r.folds.size(); ++i)
      CpuBackend::do_map_reduce(fold_of(r, i, found));
    if (r.elements.program) {
      MapRequest elements = elements_of(r, found);
      if (walks_columns(first, 16)) walk_last(elements, r.kept - 1);
      CpuBackend::do_map(elements);
    }
    if (r.ends.program) CpuBackend::do_map(ends_of(r, found));
    return;
  }

  std::vector<RowFoldStep> folds;
  folds.reserve(r.folds.size());
  std::size_t floats = 0;
  for (std::size_t i = 0; i < r.folds.size(); ++i) {
    folds.emplace_back(r, i, found, plans_);
    floats += folds.back().floats();
  }
  std::vector<RowStep> elements;
  if (r.elements.program) {
    elements.emplace_back(elements_of(r, found), r.elements, plans_);
    floats += elements.back().floats();
  }
  // The loops of rows are worth it where these fill vectors.
  constexpr std::size_t least_of_vectors = 64;
  std::vector<std::optional<OffRows>> off_rows(folds.size());
  for (std::size_t i = 0; i < folds.size() && length >= least_of_vectors; ++i) {
    if (r.folds[i].op == Reduction::sum) off_rows[i] = off_rows_of(r, folds[i].request);
  }
  const Cut cut{false, rows, length, 1, 1, rows, length, 1};
  const std::size_t pieces =
      std::clamp<std::size_t>(piece_count(rows * length, element_grain), 1, rows);
  OpScratch scratch(*memory_, r.call, floats, pieces);
  std::byte* const values = data<std::byte>(found);
  parallel_tasks(pieces, [&](std::size_t piece) {
    Scratch own(scratch);
    const auto run_of = [&](const RowStep& step) {
      return ProgramRun(step.request, *step.steps,
                        reinterpret_cast<std::byte*>(own.take(step.floats())));
    };
    std::vector<ProgramRun> runs;
    runs.reserve(folds.size());
    std::vector<Reducer> reducers;
    reducers.reserve(folds.size());
    for (const RowFoldStep& step : folds) {
      runs.push_back(run_of(step));
      reducers.emplace_back(step.fold, cut, step.joiner, runs.back());
    }
    std::vector<ProgramRun> last;
    for (const RowStep& step : elements) last.push_back(run_of(step));
    // As many short rows at a time as a block holds.
    const std::size_t at_once = std::max<std::size_t>(program_block / length, 1);
    const std::size_t end = rows * (piece + 1) / pieces;
    for (std::size_t row = rows * piece / pieces, n = 0; row < end; row += n) {
      n = std::min(at_once, end - row);
      for (std::size_t i = 0; i < folds.size(); ++i) {
        if (const std::optional<OffRows>& of = off_rows[i]) {
          auto* const sums = reinterpret_cast<float*>(values) + i * rows;
          const auto* const found_of_rows =
              reinterpret_cast<const float*>(values) + of->found * rows;
          for (std::size_t at = row; at < row + n; ++at) {
            sums[at] = static_cast<float>(of->sum(at, length, found_of_rows));
          }
          continue;
        }
        reducers[i].reduce_rows(row, n, values + (i * rows + row) * size, nullptr);
      }
      for (ProgramRun& run : last) run.run(row * length, (row + n) * length);
    }
  });
  if (r.ends.program) CpuBackend::do_map(ends_of(r, found));
}

}  // namespace tilewright::cpu
