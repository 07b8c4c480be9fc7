#include "bindings/enums.hpp"

#include "tilewright/fft_plan.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

template <class Enum>
void bind_enum(py::module_& module, const char* name, const char* doc) {
  py::list members;
  for (const std::string_view value : EnumNames<Enum>::values) {
    members.append(py::make_tuple(to_str(value), to_str(value)));
  }
  // A member prints as its name, which is also what it equals.
  const py::object made =
      py::module_::import("enum").attr("StrEnum")(name, members, py::arg("module") = "tilewright");
  made.attr("__doc__") = doc;
  module.add_object(name, made);
  enum_class<Enum> = py::object(made).release();
}

}  // namespace

void bind_enums(py::module_& m) {
  bind_enum<DType>(
      m, "DType",
      "How elements are stored. Arithmetic on float16 and bfloat16 is done in float32; "
      "what takes only some of them says which.");
  bind_enum<Transpose>(m, "Transpose", "How a matrix is read by gemm.");
  bind_enum<Precision>(m, "Precision", "What the inputs of a mixed-precision product round to.");
  bind_enum<UnaryOp>(m, "UnaryOp", "The elementwise ops of one input.");
  bind_enum<BinaryOp>(m, "BinaryOp", "The elementwise ops of two inputs.");
  bind_enum<ReduceOp>(m, "ReduceOp", "The reductions along an axis.");
  bind_enum<Reduction>(m, "Reduction", "What map_reduce makes of the elements.");
  bind_enum<ScanOp>(m, "ScanOp", "What scan makes of the elements up to each.");
  bind_enum<PoolOp>(m, "PoolOp", "What pool() makes of the elements of a window.");
  bind_enum<Activation>(m, "Activation", "What conv2d_forward() makes of its sums and bias.");
  bind_enum<SampleMode>(m, "SampleMode", "Which elements around a place grid_sample() takes.");
  bind_enum<SamplePadding>(m, "SamplePadding", "What grid_sample() finds outside of the input.");
  bind_enum<RopePairing>(m, "RopePairing", "Which elements rope turns together.");
  bind_enum<QuantFormat>(m, "QuantFormat", "How weights are stored in blocks.");
  bind_enum<RecurrentCell>(m, "RecurrentCell", "What a step of a recurrent layer computes.");
  bind_enum<FftKind>(m, "FftKind", "What a plan of Fourier transforms is of.");
  bind_enum<DeviceKind>(m, "DeviceKind", "What a device is, from fast to slow.");
}

}  // namespace tilewright::bindings
