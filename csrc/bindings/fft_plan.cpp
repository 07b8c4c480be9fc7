#include "bindings/fft_plan.hpp"

#include <pybind11/numpy.h>

#include <complex>
#include <memory>
#include <utility>
#include <vector>

#include "bindings/convert.hpp"
#include "bindings/self.hpp"
#include "tilewright/fft_plan.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

constexpr const char* call = "fft_plan";

/// An FftPlan with the object whose backend it is of.
struct BackendFftPlan {
  py::object backend;
  FftPlan plan;
};

BackendFftPlan make(const py::object& self, Given<std::span<const Size>> shape, Given<Size> batch,
                    Given<FftKind> kind, Given<DType> dtype) {
  const std::shared_ptr<Backend>& backend = *holder_of<Backend>(self);
  const std::vector<Size> lengths = to_sizes(shape.object, {call, "shape"});
  const Size count = to_size(batch.object, {call, "batch"});
  const FftKind what = Convert<FftKind>::from(kind.object, {call, "kind"});
  const DType of = Convert<DType>::from(dtype.object, {call, "dtype"});
  return {self, without_gil([&] { return FftPlan(backend, lengths, count, what, of); })};
}

void run(Self<BackendFftPlan> self, Given<Buffer> input, Given<Buffer> output, Given<bool> inverse,
         Given<double> scale) {
  const Backend* backend = self->plan.backend().get();
  const Buffer from = to_buffer(input.object, {call, "input", backend});
  const Buffer to = to_buffer(output.object, {call, "output", backend});
  const bool is_inverse = to_bool(inverse.object, {call, "inverse"});
  const double factor = to_double(scale.object, {call, "scale"});
  without_gil([&] { self->plan.run(from, to, is_inverse, factor); });
}

}  // namespace

void bind_fft_plan(py::module_& m, BackendClass& cls) {
  py::class_<BackendFftPlan> plan(m, "FftPlan",
                                  "Fourier transforms of any lengths, with their tables.");
  plan.attr("__module__") = "tilewright";
  plan.def_property_readonly("backend", [](Self<BackendFftPlan> self) { return self->backend; });
  plan.def_property_readonly(
      "input_size", [](Self<BackendFftPlan> self) { return self->plan.input_size(); },
      "Elements of dtype on the side of the input.");
  plan.def_property_readonly(
      "transform_size", [](Self<BackendFftPlan> self) { return self->plan.transform_size(); },
      "Elements of dtype on the side of the transform.");
  plan.def_property_readonly(
      "table_bytes", [](Self<BackendFftPlan> self) { return self->plan.table_bytes(); },
      "Of the tables, on the device.");
  plan.def("run", &run, py::arg("input"), py::arg("output"), py::arg("inverse") = false,
           py::arg("scale") = 1.0,
           "Queues the transforms of input, or with `inverse` the way back, into output.");

  cls.def("fft_plan", &make, py::arg("shape"), py::arg("batch") = 1, py::arg("kind") = "complex",
          py::arg("dtype") = "float32",
          "A plan of Fourier transforms along all axes of a shape, of any lengths.");
  cls.def(
      "fft_roots",
      [](Self<Backend>, Given<Size> n, Given<bool> real) {
        const Size length = to_size(n.object, {"fft_roots", "n"});
        const bool is_real = to_bool(real.object, {"fft_roots", "real"});
        const auto roots = without_gil([&] { return fft_roots(length, is_real); });
        return py::array_t<std::complex<double>>(std::ssize(roots), roots.data());
      },
      py::arg("n"), py::arg("real") = false,
      "The roots of fft(), or of fft_real(), and behind them what a length is convolved with.");
  cls.def(
      "optimal_fft_size",
      [](Self<Backend>, Given<Size> n) {
        return optimal_fft_size(to_size(n.object, {"optimal_fft_size", "n"}));
      },
      py::arg("n"), "The least length from n on whose factors are 2, 3, 5 and 7.");
}

}  // namespace tilewright::bindings
