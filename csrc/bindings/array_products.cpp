#include "bindings/array_products.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "bindings/array_arguments.hpp"
#include "bindings/array_map.hpp"
#include "bindings/array_rules.hpp"
#include "bindings/matmul.hpp"
#include "bindings/noted_call.hpp"
#include "bindings/operands.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

const Program& product_of(DType dtype) {
  static auto& kept = *new std::map<DType, Program>();
  const auto found = kept.find(dtype);
  if (found != kept.end()) return found->second;
  Program program;
  const Program::Value a = program.input(dtype), b = program.input(dtype);
  program.output(program.apply("mul", std::array{a, b}));
  return kept.emplace(dtype, std::move(program)).first->second;
}

/// An operand as matrices: a vector is a row on the left and a column on the right.
struct Matrices {
  Sizes batch, batch_strides;
  Size rows = 1, columns = 1, down = 0, across = 0;  ///< and the strides along them

  Matrices(const ArrayObject& array, bool is_left)
      : batch(array.shape), batch_strides(strides_of(array)) {
    const std::size_t rank = batch.rank;
    const bool is_vector = rank == 1;
    if (!is_vector || is_left) {
      columns = batch[rank - 1];
      across = batch_strides[rank - 1];
    }
    if (!is_vector || !is_left) {
      rows = batch[is_vector ? 0 : rank - 2];
      down = batch_strides[is_vector ? 0 : rank - 2];
    }
    batch.rank = batch_strides.rank = is_vector ? 0 : rank - 2;
  }
  /// The strides along a batch that it broadcasts to, with room for those of a product.
  Sizes along(const Sizes& to, const std::array<Size, 3>& product) const {
    Sizes strides;
    strides.rank = to.rank;
    std::fill_n(strides.values.begin(), to.rank, 0);
    for (std::size_t i = 1; i <= batch.rank; ++i) {
      if (batch[batch.rank - i] == 1) continue;
      strides.values[to.rank - i] = batch_strides[batch.rank - i];
    }
    for (const Size one : product) strides.values[strides.rank++] = one;
    return strides;
  }
};

/// None where they do not broadcast.
std::optional<Sizes> common_batch(const Sizes& a, const Sizes& b) {
  const Sizes &wide = a.rank < b.rank ? b : a, &narrow = a.rank < b.rank ? a : b;
  Sizes common = wide;
  for (std::size_t i = 1; i <= narrow.rank; ++i) {
    Size& size = common.values[common.rank - i];
    const Size other = narrow[narrow.rank - i];
    if (size == 1) size = other;
    if (other != size && other != 1) return std::nullopt;
  }
  return common;
}

/// Each element a sum of its own.
py::object integer_product(const ArrayObject* x, const ArrayObject* y) {
  constexpr std::size_t most_of_batch = max_rank - 3;
  const auto is_taken = [](const ArrayObject* one) {
    if (one == nullptr || one->size == 0 || !is_integer(one->stored_as)) return false;
    const auto rank = static_cast<std::size_t>(PyTuple_GET_SIZE(one->shape));
    return rank > 0 && rank <= most_of_batch;
  };
  if (!is_taken(x) || !is_taken(y) || x->stored_as != y->stored_as || x->backend != y->backend) {
    return py::none();
  }
  const Matrices a(*x, true), b(*y, false);
  const auto batch = common_batch(a.batch, b.batch);
  if (a.columns != b.rows || !batch) return py::none();
  Sizes shape = *batch, left = *batch;
  if (PyTuple_GET_SIZE(x->shape) > 1) left.values[left.rank++] = a.rows;
  if (PyTuple_GET_SIZE(y->shape) > 1) left.values[left.rank++] = b.columns;
  for (const Size size : {a.rows, b.columns, a.columns}) shape.values[shape.rank++] = size;
  const Memory of_x = x->memory(), of_y = y->memory();
  const Sizes along_a = a.along(*batch, {a.down, 0, a.across}),
              along_b = b.along(*batch, {0, b.across, b.down});
  py::object result = new_array(x->backend, left.tuple(), x->stored_as);
  const std::array inputs{MapOperand{of_x->buffer(), along_a.span(), x->offset},
                          MapOperand{of_y->buffer(), along_b.span(), y->offset}};
  const MapOperand output(array_in(result)->filled->buffer());
  const Program& product = product_of(x->stored_as);
  const std::array<Size, 1> axis{static_cast<Size>(shape.rank) - 1};
  Backend& backend = *of_x->backend();
  without_gil([&] {
    call_op(backend, &Backend::map_reduce, product, Reduction::sum, shape.span(), axis, inputs, {},
            {&output, 1}, nullptr, {}, {});
  });
  return result;
}

/// _product(x1, x2)
py::object product(Arguments given) {
  const ArrayObject *const x = array_in(given[0]), *const y = array_in(given[1]);
  const bool are_alike =
      x != nullptr && y != nullptr && x->backend == y->backend && x->stored_as == y->stored_as;
  if (are_alike && (x->stored_as == DType::float32 || x->stored_as == DType::float16)) {
    return matmul(*x, *y);
  }
  return integer_product(x, y);
}

PyMethodDef function = fast_function<2, product>(
    "_product",
    "_product(x1: object, x2: object) -> Array | None\n\nThe product of matrices, vectors and "
    "batches of integers, float32 or float16, both of one dtype. None where an argument is not of "
    "the common kind, or wrong but for its shape.");

}  // namespace

void bind_array_products(py::module_& m) { add_function(m, function); }

}  // namespace tilewright::bindings
