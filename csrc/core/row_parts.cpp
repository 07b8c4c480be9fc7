#include "core/row_parts.hpp"

#include <algorithm>

namespace tilewright {

namespace {

/// What a fold found: one for each row, in the order of the kept dimensions.
struct Found {
  MapRequest::Operand operand;
  std::vector<Size> strides;
};

Found found_of(const RowsRequest& r, std::size_t fold, const AllocationRef& found) {
  Found one{{found, static_cast<Size>(fold) * r.results}, std::vector<Size>(r.rank, 0)};
  Size step = 1;
  for (std::size_t d = r.kept; d-- > 0; step *= r.shape()[d]) one.strides[d] = step;
  return one;
}

/// The operands of one program, along the first dimensions.
class Parts {
 public:
  Parts(const RowsRequest& r, std::size_t rank, const AllocationRef& found)
      : r_(r), found_(found), rank_(rank) {
    append(r.shape());
  }

  void add(std::size_t first, std::size_t count) {
    for (std::size_t o = first; o < first + count; ++o) {
      operands.push_back(r_.operands[o]);
      append(r_.strides(o));
    }
  }
  void add_found(std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count; ++i) {
      const Found one = found_of(r_, i, found_);
      operands.push_back(one.operand);
      append(one.strides);
    }
  }
  MapRequest map(const RowsRequest::Step& step, Size n) {
    MapRequest m;
    m.program = step.program;
    m.n = n;
    m.rank = std::max<std::size_t>(rank_, 1);
    m.numbers = step.numbers;
    m.same_as.assign(step.program->inputs.size(), MapRequest::no_output);
    if (rank_ == 0) sizes.assign(1 + operands.size(), 1);
    m.operands = std::move(operands);
    m.sizes = std::move(sizes);
    return m;
  }

  std::vector<MapRequest::Operand> operands;
  std::vector<Size> sizes;

 private:
  void append(std::span<const Size> all) {
    sizes.insert(sizes.end(), all.begin(), all.begin() + static_cast<std::ptrdiff_t>(rank_));
  }

  const RowsRequest& r_;
  const AllocationRef& found_;
  std::size_t rank_;
};

}  // namespace

DType RowsRequest::dtype_at(std::size_t operand) const {
  const ProgramData& first = *folds[0].program;
  if (operand < inputs) return first.nodes[first.inputs[operand]].dtype;
  if (operand < inputs + outputs) return elements.program->output_dtype(operand - inputs);
  return ends.program->output_dtype(operand - inputs - outputs);
}

FoldRequest fold_of(const RowsRequest& r, std::size_t fold, const AllocationRef& found) {
  FoldRequest f;
  f.call = r.call;
  f.op = r.folds[fold].op;
  f.front = r.folds[fold].program;
  f.behind = identity_program(r.found());
  f.numbers = r.folds[fold].numbers;
  f.results = r.results;
  f.length = r.length;
  f.kept = r.kept;
  f.rank = r.rank;
  Parts parts(r, r.rank, found);
  parts.add(0, r.inputs);
  parts.add_found(0, fold + 1);
  f.operands = std::move(parts.operands);
  f.sizes = std::move(parts.sizes);
  return f;
}

MapRequest elements_of(const RowsRequest& r, const AllocationRef& found) {
  Parts parts(r, r.rank, found);
  parts.add(0, r.inputs);
  parts.add_found(0, r.folds.size());
  parts.add(r.inputs, r.outputs);
  return parts.map(r.elements, r.results * r.length);
}

MapRequest ends_of(const RowsRequest& r, const AllocationRef& found) {
  Parts parts(r, r.kept, found);
  parts.add_found(0, r.folds.size());
  parts.add(r.inputs + r.outputs, r.operands.size() - r.inputs - r.outputs);
  return parts.map(r.ends, r.results);
}

}  // namespace tilewright
