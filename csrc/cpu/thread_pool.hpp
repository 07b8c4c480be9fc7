#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace tilewright::cpu {

/// How many threads work on one op: TILEWRIGHT_NUM_THREADS, else the processors this process may
/// use. Read once. Throws InvalidArgument for a variable that makes no sense.
std::size_t thread_count();

/// Runs task(i) for every i in [0, tasks), the caller among the workers, and returns when all are
/// done. An exception of a task is thrown here. Inside a task, and while another caller has the
/// workers, everything runs on the calling thread. Works in a forked child.
void run_tasks(std::size_t tasks, void (*task)(void* context, std::size_t index), void* context);

template <class Task>
void parallel_tasks(std::size_t tasks, Task&& task) {
  run_tasks(
      tasks,
      [](void* context, std::size_t index) {
        (*static_cast<std::remove_reference_t<Task>*>(context))(index);
      },
      const_cast<void*>(static_cast<const void*>(&task)));
}

/// The number of pieces that [0, n) is cut into when a piece should have at least `grain`.
std::size_t piece_count(std::size_t n, std::size_t grain);

/// Calls body(begin, end) on pieces of [0, n), each but the last a multiple of 16 long, at least
/// about `grain` long; in one piece on the caller where n is small.
template <class Body>
void parallel_for(std::size_t n, std::size_t grain, Body&& body) {
  const std::size_t pieces = piece_count(n, grain);
  if (pieces <= 1) {
    if (n != 0) body(std::size_t{0}, n);
    return;
  }
  const std::size_t step = ((n + pieces - 1) / pieces + 15) / 16 * 16;
  parallel_tasks((n + step - 1) / step, [&](std::size_t i) {
    const std::size_t begin = i * step;
    body(begin, begin + step < n ? begin + step : n);
  });
}

}  // namespace tilewright::cpu
