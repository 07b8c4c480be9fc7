#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <span>
#include <thread>

#include "bindings/element_call.hpp"

// Elementwise work that waits: a function of Arrays gives an Array whose elements are computed when
// they are first asked for. By then the functions that it came of, and a reduction at the end, go
// out as one program (chain.hpp).
//
// What waits is computed before an operand of it is written, before a view of it is made, and
// before the backend is asked for all its work (synchronize, flush, event, record, profile). All of
// this is under the GIL, which computing lets go of.
namespace tilewright::bindings {

/// A recording under way in a thread: what is called for in it is computed in it.
struct RecordingScope {
  const Backend* backend;
  bool is_active = true;
};

struct Deferred {
  explicit Deferred(ElementCall given);
  ~Deferred();
  Deferred(const Deferred&) = delete;
  Deferred& operator=(const Deferred&) = delete;

  ElementCall call;
  std::uint64_t number;                ///< how many were called for before it
  const ArrayObject* owner = nullptr;  ///< whose elements it gives
  Deferred *older = nullptr, *newer = nullptr;
  std::size_t readers = 0;                  ///< how many others have its result as an operand
  std::uint32_t functions = 1, arrays = 0;  ///< of the whole chain at most
  bool is_costly = false;                   ///< to compute again on a CPU
  bool was_used = false;    ///< by a chain that was computed while its own Array stayed
  bool has_failed = false;  ///< when it was computed to make room
  Size bytes = 0;           ///< of the memory that its operands are in
  std::shared_ptr<RecordingScope> recording;  ///< null outside of any

  std::int64_t computing_process = 0;  ///< 0 while nobody computes it
  std::thread::id computing_thread;
};

/// Whether elementwise functions of Arrays of the backend are to wait, in this thread.
bool defers(const Backend& backend, const ElementCall& call, Size elements);
/// An Array that waits for the call.
pybind11::object defer(ElementCall call, PyObject* backend, pybind11::handle shape);

/// Marks a deferred call as one that this thread computes; others that ask for it wait.
class Computing {
 public:
  explicit Computing(std::shared_ptr<Deferred> one);
  ~Computing();
  Computing(Computing&& other) noexcept = default;
  Computing& operator=(Computing&&) = delete;

 private:
  std::shared_ptr<Deferred> one_;
  std::int64_t process_;
  std::thread::id thread_;
};

/// Nothing finds it any more but who has its Array, which is about to end.
void withdraw(Deferred& one) noexcept;
/// Computes what waits on a backend, as far as there is memory for it, so that operands are freed.
void make_room(const Backend& backend);
/// Computes what an Array waits for.
void compute(const ArrayObject& array);
/// Runs a call into an Array that its caller has, with what its operands wait for in one program
/// where that is worth it.
void compute_into(const ElementCall& call, const ArrayObject& out);
/// Reduces what `array` waits for into `to`, a buffer of its own, in one program with it: the
/// arguments of map_reduce(). False where that is not to be done, and nothing is done.
bool reduce_waiting(const ArrayObject& array, const Program& front, Reduction op,
                    std::span<const Size> axes, const ArrayObject& to, const Program* behind,
                    std::span<const Number> numbers);
/// Before elements of `array` are written: refuses an argument of a function that this thread
/// records for compile(), and computes what waits for elements of the memory.
void make_writable(const ArrayObject& array, const char* call);
/// Computes what waits for elements of the memory that `array` is a part of, which are about to be
/// written.
void compute_readers(const ArrayObject& array);
/// The same, and from now on nothing waits for elements of that memory: others may write it.
void expose(const ArrayObject& array);
/// Computes all that waits on a backend.
void compute_all(const Backend& backend);
/// What waits on a backend that was closed has no elements: Arrays of it hold a dead handle.
void abandon_all(const Backend& backend);

/// How many calls were deferred so far.
std::uint64_t deferred_so_far() noexcept;
/// What says in this thread whether calls wait.
std::uint64_t deferral_here() noexcept;

/// Whether this thread records work on some backend.
bool is_recording_here();

/// Nothing waits while one of these is alive, but what this thread asks for: it records.
class Undeferred {
 public:
  explicit Undeferred(const Backend& backend);
  ~Undeferred() { end(); }
  Undeferred(Undeferred&& other) noexcept = default;
  Undeferred& operator=(Undeferred&&) = delete;
  void end() noexcept;

 private:
  std::shared_ptr<RecordingScope> scope_;
};

/// Adds what switches deferral, and the reduction of what waits.
void bind_deferred(pybind11::module_& module);

}  // namespace tilewright::bindings
