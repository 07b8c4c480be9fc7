#include "bindings/element_call.hpp"

#include <vector>

#include "bindings/array_map.hpp"
#include "bindings/noted_call.hpp"

namespace tilewright::bindings {

bool run_simple(const ElementCall& call, const ArrayObject& out) {
  const TypedFunction& how = call.how;
  if (how.computed_in != DType::float32 && how.computed_in != DType::float16) return false;
  const std::span<const CallOperand> operands = call.given();
  if (out.stored_as != how.computed_in || how.result != how.computed_in || how.op.empty() ||
      !out.is_contiguous() || operands.size() > 2 || out.size == 0) {
    return false;
  }
  const ArrayObject* first = nullptr;
  std::size_t number_at = 2;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const ArrayObject* array = operands[i].array;
    if (array == nullptr) {
      number_at = i;
      continue;
    }
    if (array->stored_as != how.computed_in || !array->is_contiguous() || array->size != out.size ||
        (overlap(*array, out) && array->offset != out.offset)) {
      return false;
    }
    if (first == nullptr) first = array;
  }
  if (first == nullptr) return false;
  Backend& backend = *out.memory()->backend();
  const Size n = out.size;
  const DType dtype = how.computed_in;
  if (operands.size() == 1) {
    const auto op = from_string<UnaryOp>(how.op);
    if (!op) return false;
    without_gil([&, from = first->buffer(), to = out.buffer()] {
      call_op(backend, &Backend::unary, *op, from, to, n, dtype);
    });
    return true;
  }
  const auto op = from_string<BinaryOp>(how.op);
  if (!op) return false;
  if (number_at < 2) {
    without_gil([&, from = first->buffer(), to = out.buffer(), value = operands[number_at].real] {
      call_op(backend, &Backend::binary_scalar, *op, from, value, to, n, number_at == 0, dtype);
    });
    return true;
  }
  without_gil([&, a = operands[0].array->buffer(), b = operands[1].array->buffer(),
               to = out.buffer()] { call_op(backend, &Backend::binary, *op, a, b, to, n, dtype); });
  return true;
}

void run_alone(const ElementCall& call, const ArrayObject& out) {
  if (run_simple(call, out)) return;
  std::array<const ArrayObject*, most_operands> arrays;
  std::array<Source, most_operands> sources;
  std::vector<Number> numbers;
  std::size_t count = 0;
  const std::span<const CallOperand> operands = call.given();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    sources[i] = {operands[i].dtype, operands[i].array == nullptr};
    if (operands[i].array != nullptr) {
      arrays[count++] = operands[i].array;
    } else {
      numbers.push_back(*operands[i].number);
    }
  }
  const Program& program = program_of(*call.function, call.how,
                                      std::span(sources).first(operands.size()), out.stored_as);
  map_arrays(program, std::span(arrays).first(count), numbers, out);
}

}  // namespace tilewright::bindings
