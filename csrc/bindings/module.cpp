#include <pybind11/pybind11.h>

#include "bindings/array.hpp"
#include "bindings/array_arguments.hpp"
#include "bindings/array_complex.hpp"
#include "bindings/array_create.hpp"
#include "bindings/array_elementwise.hpp"
#include "bindings/array_join.hpp"
#include "bindings/array_masks.hpp"
#include "bindings/array_ops.hpp"
#include "bindings/array_products.hpp"
#include "bindings/array_reduce.hpp"
#include "bindings/array_sort.hpp"
#include "bindings/array_take.hpp"
#include "bindings/backend.hpp"
#include "bindings/choices.hpp"
#include "bindings/deferred.hpp"
#include "bindings/dlpack.hpp"
#include "bindings/enums.hpp"
#include "bindings/errors.hpp"
#include "bindings/event.hpp"
#include "bindings/fft_plan.hpp"
#include "bindings/indexing.hpp"
#include "bindings/kept_function.hpp"
#include "bindings/kernel.hpp"
#include "bindings/log.hpp"
#include "bindings/native_call.hpp"
#include "bindings/operands.hpp"
#include "bindings/program.hpp"
#include "bindings/recording.hpp"
#include "bindings/structs.hpp"
#include "tilewright/version.hpp"

PYBIND11_MODULE(_core, m) {
  using namespace tilewright::bindings;
  m.doc() = "The tilewright library as it is; the package tilewright is its public face.";
  m.attr("__version__") = tilewright::version();
  bind_errors(m);
  bind_enums(m);
  bind_structs(m);
  BackendClass backend = bind_backend(m);
  bind_ops(backend);
  bind_events(m, backend);
  bind_recording(m, backend);
  bind_fft_plan(m, backend);
  bind_array(m);
  bind_array_complex(m);
  bind_array_elementwise(m);
  bind_array_functions(m);
  bind_array_arguments(m);
  bind_array_create(m);
  bind_array_join(m);
  bind_array_masks(m);
  bind_array_products(m);
  bind_operands(backend);
  bind_array_ops(backend);
  bind_choices(m);
  bind_deferred(m);
  bind_dlpack(m);
  bind_array_reduce(m);
  bind_array_sort(m);
  bind_array_take(m);
  bind_kept_function(m);
  bind_kernel(m, backend);
  bind_program(m, backend);
  bind_indexing(backend);
  bind_log(m);
  bind_native_calls();
}
