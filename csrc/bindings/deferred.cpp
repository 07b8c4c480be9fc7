#include "bindings/deferred.hpp"

#include <pybind11/stl.h>

#if !defined(_WIN32)
#include <unistd.h>
#endif

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/array_map.hpp"
#include "bindings/call_notes.hpp"
#include "bindings/chain.hpp"
#include "bindings/method.hpp"
#include "bindings/noted_call.hpp"
#include "bindings/operands.hpp"
#include "core/text.hpp"
#include "tilewright/error.hpp"

namespace py = pybind11;

namespace tilewright::bindings {

namespace {

/// Fewer elements than this stay in a CPU's caches, from one function to the next.
constexpr Size most_in_caches = Size{1} << 21;
/// What may wait at a time, and the memory that it may read: a quarter of the limit, or of this
/// where there is none or it is larger.
constexpr std::size_t most_waiting = 256;
constexpr std::uint64_t assumed_memory = std::uint64_t{16} << 30;
constexpr Size little_memory = Size{16} << 20;

// All that waits, from the first to the last that was called for. Under the GIL, as all here.
Deferred* oldest = nullptr;
Deferred* newest = nullptr;
std::size_t waiting = 0;
std::uint64_t so_far = 0;
std::size_t undeferred = 0;  ///< how many Undeferred are alive

bool is_on = true;
thread_local std::optional<bool> in_thread;
/// What this thread may not write.
thread_local std::vector<const ArrayMemory*> read_only;
thread_local std::shared_ptr<RecordingScope> in_recording;
thread_local bool makes_room = false;
Size waiting_bytes = 0;

/// Another one in the child of a fork.
std::int64_t own_process() {
#if defined(_WIN32)
  return 1;
#else
  return getpid();
#endif
}

bool is_costly(const ElementFunction& f) {
  static constexpr std::string_view cheap[] = {"divide", "reciprocal", "sqrt", "copysign", "relu"};
  static constexpr std::string_view costly[] = {"pow", "remainder", "floor_divide"};
  if (f.rule == Rule::real) return std::ranges::find(cheap, f.name) == std::end(cheap);
  return std::ranges::find(costly, f.name) != std::end(costly);
}

bool on_cpu(const Backend& backend) { return backend.name() == "cpu"; }

/// A CPU runs programs without compiling them. Who asks for deferral in a thread asks for programs.
ChainRules rules_on(const Backend& backend) {
  const bool cpu = on_cpu(backend);
  return {.may_repeat_costly = !cpu, .compiles_at_once = cpu || in_thread.value_or(false)};
}

const Backend& backend_in(const ArrayObject& array) { return *instance_of<Backend>(array.backend); }

void add_reader(const ArrayObject& array) {
  ++(array.deferred ? array.deferred->readers : array.filled->readers);
}

void drop_reader(const ArrayObject& array) {
  --(array.deferred ? array.deferred->readers : array.filled->readers);
}

/// The recording that this thread's work on a backend goes to; null outside of any.
const RecordingScope* scope_of(const Backend& backend) {
  const RecordingScope* const scope = in_recording.get();
  return scope != nullptr && scope->is_active && scope->backend == &backend ? scope : nullptr;
}

/// Whether this thread may compute it: not one that was called for in another recording, or outside
/// of this thread's.
bool is_own(const Deferred& one) { return one.recording.get() == scope_of(backend_in(*one.owner)); }

/// Whether its elements come of memory, by way of others that wait too.
bool reads(const Deferred& one, const ArrayMemory* memory) {
  return std::ranges::any_of(one.call.operands, [&](const CallOperand& operand) {
    if (operand.array == nullptr) return false;
    if (operand.array->deferred != nullptr) return reads(*operand.array->deferred, memory);
    return operand.array->filled.get() == memory;
  });
}

/// Whether another thread computes it: one of this process, which a fork leaves behind.
bool is_elsewhere(const Deferred& one) {
  return one.computing_process == own_process() &&
         one.computing_thread != std::this_thread::get_id();
}

/// `apart`: its operands are computed each on its own.
void compute_one(const ArrayObject& array, bool apart);

void run_apart(const ElementCall& call, const ArrayObject& out) {
  for (const CallOperand& operand : call.given()) {
    if (operand.array != nullptr) compute_one(*operand.array, true);
  }
  run_alone(call, out);
}

void run(const ElementCall& call, const ArrayObject& out, Py_ssize_t held) {
  const ChainRules rules = rules_on(backend_in(out));
  for (;;) {
    const bool any = std::ranges::any_of(call.given(), [](const CallOperand& operand) {
      return operand.array != nullptr && operand.array->deferred != nullptr;
    });
    if (!any) return run_alone(call, out);
    const Chain chain(call, rules, held);
    if (chain.blocked_by() != nullptr) {
      compute(*chain.blocked_by());
      continue;
    }
    const std::optional<Program> program = chain.program(out.stored_as);
    if (!program) return run_apart(call, out);
    const std::vector<Computing> computing = chain.begin();
    const std::vector<const ArrayObject*> inputs = chain.inputs();
    return map_arrays(*program, inputs, chain.numbers(), out);
  }
}

void compute_one(const ArrayObject& array, bool apart) {
  // Whoever computes it may have the last reference.
  const auto alive = py::reinterpret_borrow<py::object>(object_of(array));
  while (array.deferred != nullptr && is_elsewhere(*array.deferred)) {
    without_gil([] { std::this_thread::sleep_for(std::chrono::microseconds(20)); });
  }
  const std::shared_ptr<Deferred> deferred = array.deferred;
  if (deferred == nullptr) return;
  if (!is_own(*deferred)) {
    throw InvalidArgument(text(deferred->call.function->name,
                               ": its result was called for in a recording, or by another thread "
                               "while this one records; ask for it where it was called for"));
  }
  std::optional<NotesPaused> paused;
  if (CallNotes::here() != nullptr && CallNotes::here()->is_older(deferred->number)) {
    paused.emplace();
  }
  const Computing computing(deferred);
  const py::object made = new_array(array.backend, array.shape, array.stored_as);
  const ArrayObject& target = *array_in(made);
  if (apart) {
    run_apart(deferred->call, target);
  } else {
    run(deferred->call, target, 0);
  }
  // A call from within this one, as a log handler's, may have been here.
  if (array.deferred != deferred) return;
  array.filled = target.filled;
  array.filled->readers += deferred->readers;
  withdraw(*deferred);
  array.deferred.reset();
}

/// A chain that would be more than one program takes starts anew.
void cut(const ElementCall& call) {
  for (;;) {
    std::uint32_t functions = 1, arrays = 0;
    const ArrayObject* longest = nullptr;
    for (const CallOperand& operand : call.given()) {
      if (operand.array == nullptr) continue;
      const Deferred* const before = operand.array->deferred.get();
      arrays += before != nullptr ? before->arrays : 1;
      if (before == nullptr) continue;
      functions += before->functions;
      if (longest == nullptr || before->functions > longest->deferred->functions) {
        longest = operand.array;
      }
    }
    if (longest == nullptr || (functions <= most_chain_functions && arrays <= most_chain_arrays)) {
      return;
    }
    compute(*longest);
  }
}

/// Whether more waits than may.
bool is_crowded(const Backend& backend) {
  if (waiting > most_waiting) return true;
  if (waiting_bytes <= little_memory) return false;
  const std::uint64_t limit =
      std::min(without_gil([&] { return backend.memory_stats().limit_bytes; }), assumed_memory);
  return static_cast<std::uint64_t>(waiting_bytes) > limit / 4;
}

/// Computes the first of what waits that can be computed; false where there is none.
bool compute_oldest() {
  for (Deferred* one = oldest; one != nullptr;) {
    if (one->has_failed || !is_own(*one) || one->computing_process != 0) {
      one = one->newer;
      continue;
    }
    const std::shared_ptr<Deferred> kept = one->owner->deferred;
    try {
      compute(*one->owner);
      return true;
    } catch (const Error&) {
      // Whoever asks for it is told.
      kept->has_failed = true;
    }
    one = oldest;
  }
  return false;
}

/// Computes what waits and fulfils the condition, the last first: what it took in on the way needs
/// no computing of its own.
template <class F>
void compute_if(F&& wanted) {
  for (Deferred* one = newest; one != nullptr;) {
    if (!is_own(*one) || !wanted(*one)) {
      one = one->older;
      continue;
    }
    compute(*one->owner);
    one = newest;
  }
}

}  // namespace

Deferred::Deferred(ElementCall given) : call(std::move(given)), number(so_far++) {
  is_costly = bindings::is_costly(*call.function);
  for (const CallOperand& operand : call.operands) {
    if (operand.array == nullptr) continue;
    add_reader(*operand.array);
    const Deferred* const before = operand.array->deferred.get();
    functions += before != nullptr ? before->functions : 0;
    arrays += before != nullptr ? before->arrays : 1;
    is_costly = is_costly || (before != nullptr && before->is_costly);
    if (before == nullptr) bytes += operand.array->filled->bytes();
  }
}

Computing::Computing(std::shared_ptr<Deferred> one)
    : one_(std::move(one)),
      process_(std::exchange(one_->computing_process, own_process())),
      thread_(std::exchange(one_->computing_thread, std::this_thread::get_id())) {}

Computing::~Computing() {
  if (one_ == nullptr) return;
  one_->computing_process = process_;
  one_->computing_thread = thread_;
}

void withdraw(Deferred& one) noexcept {
  if (one.owner == nullptr) return;
  (one.older != nullptr ? one.older->newer : oldest) = one.newer;
  (one.newer != nullptr ? one.newer->older : newest) = one.older;
  one.owner = nullptr;
  --waiting;
  waiting_bytes -= one.bytes;
}

Deferred::~Deferred() {
  withdraw(*this);
  for (const CallOperand& operand : call.operands) {
    if (operand.array != nullptr) drop_reader(*operand.array);
  }
}

bool defers(const Backend& backend, const ElementCall& call, Size elements) {
  if (!in_thread.value_or(is_on) || (undeferred > 0 && !in_thread.value_or(false))) return false;
  const bool cpu = on_cpu(backend);
  if (elements < (cpu && !in_thread.value_or(false) ? most_in_caches : 1)) return false;
  if (backend.config().debug_mode) return false;
  for (const CallOperand& operand : call.given()) {
    if (operand.array != nullptr && operand.array->filled != nullptr &&
        operand.array->filled->is_exposed) {
      return false;
    }
    // What a GPU may lack is refused by the call that asks for it.
    if (!cpu && size_of(operand.dtype) > 4) return false;
  }
  return cpu || size_of(call.how.computed_in) <= 4;
}

py::object defer(ElementCall call, PyObject* backend, py::handle shape) {
  const DType dtype = call.how.result;
  cut(call);
  auto deferred = std::make_shared<Deferred>(std::move(call));
  py::object array = new_deferred(backend, shape, dtype, deferred);
  Deferred& one = *deferred;
  one.owner = array_in(array);
  one.older = newest;
  (newest != nullptr ? newest->newer : oldest) = &one;
  newest = &one;
  ++waiting;
  waiting_bytes += one.bytes;
  const Backend& owner = backend_in(*one.owner);
  if (scope_of(owner) != nullptr) one.recording = in_recording;
  while (is_crowded(owner) && compute_oldest()) {
  }
  return array;
}

void compute(const ArrayObject& array) { compute_one(array, false); }

void compute_into(const ElementCall& call, const ArrayObject& out) {
  make_writable(out, call.function->name.data());
  cut(call);
  run(call, out, 1);  // the caller's stack has a reference to each operand, and `call` another
}

void make_room(const Backend& backend) {
  if (makes_room) return;
  makes_room = true;
  std::vector<std::shared_ptr<Deferred>> all;
  for (Deferred* one = oldest; one != nullptr; one = one->newer) {
    if (&backend_in(*one->owner) == &backend) all.push_back(one->owner->deferred);
  }
  for (const std::shared_ptr<Deferred>& one : all) {
    if (one->owner == nullptr || one->computing_process != 0 || !is_own(*one)) continue;
    try {
      compute(*one->owner);
    } catch (const Error&) {
      // Whoever asks for it is told.
    }
  }
  makes_room = false;
}

void compute_readers(const ArrayObject& array) {
  const ArrayMemory* const memory = array.memory().get();
  if (memory->readers == 0) return;
  compute_if([&](const Deferred& one) { return reads(one, memory); });
}

void make_writable(const ArrayObject& array, const char* call) {
  compute_readers(array);
  if (CallNotes* const notes = CallNotes::here()) notes->written(*array.filled);
  if (std::ranges::find(read_only, array.filled.get()) == read_only.end()) return;
  throw InvalidArgument(text(call,
                             ": it would write an argument of a function that is recorded by "
                             "compile(), which are read only; write x = x.copy() first"));
}

void expose(const ArrayObject& array) {
  compute_readers(array);
  if (CallNotes* const notes = CallNotes::here()) notes->lose();
  array.filled->is_exposed = true;
}

void compute_all(const Backend& backend) {
  if (newest == nullptr) return;
  compute_if([&](const Deferred& one) { return &backend_in(*one.owner) == &backend; });
}

void abandon_all(const Backend& backend) {
  // Their ends may run Python.
  std::vector<std::shared_ptr<Deferred>> ended;
  for (Deferred* one = oldest; one != nullptr;) {
    Deferred* const next = one->newer;
    const ArrayObject& array = *one->owner;
    const ArrayObject* source = nullptr;
    for (const CallOperand& operand : one->call.operands) {
      if (operand.array != nullptr && operand.array->filled != nullptr) source = operand.array;
    }
    if (&backend_in(array) == &backend && one->computing_process == 0 && source != nullptr) {
      ended.push_back(array.deferred);
      array.filled = source->filled;
      array.filled->readers += one->readers;
      withdraw(*one);
      array.deferred.reset();
    }
    one = next;
  }
}

bool reduce_waiting(const ArrayObject& array, const Program& front, Reduction op,
                    std::span<const Size> axes, const ArrayObject& to, const Program* behind,
                    std::span<const Number> numbers) {
  const ChainRules rules = rules_on(backend_in(array));
  for (;;) {
    if (array.deferred == nullptr || !is_own(*array.deferred)) return false;
    const Chain chain(array, rules);
    if (chain.blocked_by() != nullptr) {
      if (chain.blocked_by() == &array) return false;
      compute(*chain.blocked_by());
      continue;
    }
    const std::optional<Program> program = chain.program(array.stored_as, &front);
    if (!program) return false;
    const std::vector<const ArrayObject*> inputs = chain.inputs();
    if (std::ranges::any_of(inputs, [&](const ArrayObject* one) { return overlap(*one, to); })) {
      return false;
    }
    const std::vector<Computing> computing = chain.begin();
    const Sizes shape(array.shape);
    std::vector<Sizes> strides;
    for (const ArrayObject* one : inputs) strides.push_back(strides_as(*one, shape));
    std::vector<MapOperand> operands;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      operands.emplace_back(inputs[i]->filled->buffer(), strides[i].span(), inputs[i]->offset);
    }
    const MapOperand target(to.buffer());
    Backend& backend = *to.filled->backend();
    without_gil([&] {
      call_op(backend, &Backend::map_reduce, *program, op, shape.span(), axes, operands,
              chain.numbers(), {&target, 1}, behind, {}, numbers);
    });
    return true;
  }
}

namespace {

/// _reduce_deferred(x, front, op, axes, out, behind, numbers): x, which waits, reduced without
/// being computed first. False where that is not worth it, and nothing is done.
bool reduce_deferred(py::handle x, const Program& front, Given<Reduction> op,
                     Given<std::span<const Size>> axes, py::handle out,
                     const std::optional<Program>& behind, const std::vector<double>& numbers) {
  constexpr const char* call = "reduce";
  const ArrayObject* const array = array_in(x);
  const ArrayObject* const to = array_in(out);
  if (array == nullptr || to == nullptr) throw py::type_error("expected real Arrays");
  if (array->deferred == nullptr) return false;
  const auto reduction = Convert<Reduction>::from(op.object, {call, "op"});
  const std::vector<Size> gone = to_sizes(axes.object, {call, "axes"});
  make_writable(*to, call);
  const std::vector<Number> last(numbers.begin(), numbers.end());
  return reduce_waiting(*array, front, reduction, gone, *to, behind ? &*behind : nullptr, last);
}

}  // namespace

void bind_deferred(py::module_& m) {
  m.def(
      "_set_deferred", [](bool on) { is_on = on; }, py::arg("on"),
      "Whether elementwise functions wait, in threads that do not say.");
  m.def(
      "_set_deferred_here", [](std::optional<bool> on) { return std::exchange(in_thread, on); },
      py::arg("on"), "The same for this thread, or None; gives what it was.");
  m.def(
      "_is_deferred",
      [](py::handle x) {
        const ArrayObject* const array = any_array_in(x);
        return array != nullptr && array->deferred != nullptr;
      },
      py::arg("x"), "Whether the elements of an Array are still to be computed.");
  m.def(
      "_set_read_only",
      [](const py::list& arrays) {
        read_only.clear();
        for (const py::handle one : arrays) {
          const ArrayObject* const array = any_array_in(one);
          if (array == nullptr) throw py::type_error("expected Arrays");
          read_only.push_back(array->memory().get());
        }
      },
      py::arg("arrays"), "What this thread may not write, in place of what it was.");
  m.def(
      "_make_writable",
      [](py::handle x, const std::string& call) {
        const ArrayObject* const array = any_array_in(x);
        if (array == nullptr) throw py::type_error("expected an Array");
        make_writable(*array, call.c_str());
      },
      py::arg("x"), py::arg("call"), "Before its elements are written.");
  m.def(
      "_same_elements",
      [](py::handle a, py::handle b) {
        const ArrayObject *const x = any_array_in(a), *const y = any_array_in(b);
        if (x == nullptr || y == nullptr) throw py::type_error("expected Arrays");
        return x->memory() == y->memory() && x->offset == y->offset &&
               x->stored_as == y->stored_as && same_shape(*x, *y) &&
               std::ranges::equal(strides_of(*x).span(), strides_of(*y).span());
      },
      py::arg("a"), py::arg("b"), "Whether two Arrays are the same part of one memory.");
  m.def("_reduce_deferred", &reduce_deferred, py::arg("x"), py::arg("front"), py::arg("op"),
        py::arg("axes"), py::arg("out"), py::arg("behind"), py::arg("numbers"),
        "Reduces what waits without computing it first; False where that is not to be done.");
}

std::uint64_t deferred_so_far() noexcept { return so_far; }

std::uint64_t deferral_here() noexcept {
  const unsigned own = in_thread ? 1 + (*in_thread ? 1U : 0U) : 0;
  return own << 2 | (is_on ? 2U : 0U) | (undeferred > 0 ? 1U : 0U);
}

bool is_recording_here() { return in_recording != nullptr && in_recording->is_active; }

Undeferred::Undeferred(const Backend& backend)
    : scope_(std::make_shared<RecordingScope>(&backend)) {
  ++undeferred;
  in_recording = scope_;
}

void Undeferred::end() noexcept {
  if (scope_ == nullptr || !std::exchange(scope_->is_active, false)) return;
  --undeferred;
}

}  // namespace tilewright::bindings
