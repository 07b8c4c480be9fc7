#include "cpu/thread_pool.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/environment.hpp"
#include "core/kept.hpp"
#include "core/thread_memory.hpp"
#include "cpu/processor.hpp"

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace tilewright::cpu {

namespace {

constexpr int spins_before_sleep = 4000;
constexpr std::size_t pieces_per_thread = 32;

TILEWRIGHT_MADE_WITH_THREAD thread_local bool inside_task = false;

/// The tasks of a job that one thread does first, one after another, so that it walks through
/// memory in one line. `ticket` is the job's number (high half) and the next task (low half):
/// taking a task is one compare-and-swap, which fails for a thread that still looks at an older
/// job.
struct alignas(64) Share {
  std::atomic<std::uint64_t> ticket{0};
  std::atomic<std::uint32_t> end{0};
};

/// One job at a time. Its tasks are dealt out in equal shares; a thread that is done with its own
/// takes from those of others.
class ThreadPool {
 public:
  explicit ThreadPool(std::size_t threads) : shares_(threads) {
    std::uint32_t started = 0;
    try {
      for (; started + 1 < threads; ++started) {
        std::thread([this, own = started + std::size_t{1}] { work(own); }).detach();
      }
    } catch (const std::system_error&) {
      // The system gives no more threads: those that run already do the work, with the caller.
    }
    for (std::uint32_t ready = ready_.load(); ready != started; ready = ready_.load()) {
      ready_.wait(ready);
    }
  }

  bool try_run(std::size_t tasks, void (*task)(void*, std::size_t), void* context) {
    std::unique_lock owner(owner_, std::try_to_lock);
    if (!owner.owns_lock()) return false;
    task_.store(task, std::memory_order_relaxed);
    context_.store(context, std::memory_order_relaxed);
    left_.store(static_cast<std::uint32_t>(tasks), std::memory_order_relaxed);
    failure_ = nullptr;
    const std::uint32_t job = job_.load(std::memory_order_relaxed) + 1;
    const std::size_t each = tasks / shares_.size(), more = tasks % shares_.size();
    std::size_t first = 0;
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      const std::size_t end = first + each + (i < more ? 1 : 0);
      shares_[i].end.store(static_cast<std::uint32_t>(end), std::memory_order_relaxed);
      shares_[i].ticket.store(std::uint64_t{job} << 32 | first, std::memory_order_release);
      first = end;
    }
    job_.store(job, std::memory_order_release);
    job_.notify_all();
    run_available(0);
    wait_for_others();
    // Closes the job, so that a late worker cannot match its number.
    for (Share& share : shares_) {
      share.ticket.store(std::uint64_t{job} << 32 | 0xffffffffu, std::memory_order_release);
    }
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    return true;
  }

 private:
  void work(std::size_t own) {
    // Exceptions of this thread take memory at their first use, where the C library ends the
    // process if there is none: it is taken while the pool starts.
    static_cast<void>(std::uncaught_exceptions());
    take_part_of_heap();
    ready_.fetch_add(1);
    ready_.notify_one();
    std::uint32_t seen = 0;
    for (;;) {
      int spins = 0;
      while (job_.load(std::memory_order_acquire) == seen) {
        if (++spins < spins_before_sleep) {
          pause_processor();
        } else {
          job_.wait(seen, std::memory_order_acquire);
        }
      }
      seen = job_.load(std::memory_order_acquire);
      run_available(own);
    }
  }

  void run_available(std::size_t own) {
    inside_task = true;
    for (std::size_t i = own; i < shares_.size(); ++i) run_share(shares_[i]);
    for (std::size_t i = 0; i < own; ++i) run_share(shares_[i]);
    inside_task = false;
  }

  void run_share(Share& share) {
    std::uint64_t ticket = share.ticket.load(std::memory_order_acquire);
    for (;;) {
      const auto index = static_cast<std::uint32_t>(ticket);
      auto* const task = task_.load(std::memory_order_relaxed);
      void* const context = context_.load(std::memory_order_relaxed);
      if (index >= share.end.load(std::memory_order_relaxed)) break;
      if (!share.ticket.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel,
                                              std::memory_order_acquire)) {
        continue;
      }
      try {
        task(context, index);
      } catch (...) {
        std::lock_guard lock(failure_mutex_);
        if (!failure_) failure_ = std::current_exception();
      }
      if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) left_.notify_all();
      ticket = share.ticket.load(std::memory_order_acquire);
    }
  }

  /// The C library reserves 128 MB for a moment at a thread's first allocation, which must not be
  /// while another thread, where memory is little, counts on what it has seen to be free.
  static void take_part_of_heap() {
    void* volatile const some = std::malloc(1);
    std::free(some);
  }

  void wait_for_others() {
    int spins = 0;
    for (std::uint32_t left = left_.load(std::memory_order_acquire); left != 0;
         left = left_.load(std::memory_order_acquire)) {
      if (++spins < spins_before_sleep) {
        pause_processor();
      } else {
        left_.wait(left, std::memory_order_acquire);
      }
    }
  }

  std::mutex owner_;
  std::atomic<void (*)(void*, std::size_t)> task_{nullptr};
  std::atomic<void*> context_{nullptr};
  std::vector<Share> shares_;
  alignas(64) std::atomic<std::uint32_t> left_{0};
  alignas(64) std::atomic<std::uint32_t> job_{0};
  std::atomic<std::uint32_t> ready_{0};
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
};

// Never destroyed: its workers may run until the process ends. A forked child, which has none of
// the workers, forgets it and makes its own.
std::atomic<ThreadPool*> current_pool{nullptr};

std::mutex* creation = new std::mutex;  // for the whole process, also as it ends

#if !defined(_WIN32)
const int fork_handler = pthread_atfork(nullptr, nullptr, [] {
  creation = new std::mutex;  // a thread that the child lacks may hold the parent's
  current_pool.store(nullptr);
  inside_task = false;
});
#endif

ThreadPool& pool() {
  if (ThreadPool* existing = current_pool.load(std::memory_order_acquire)) return *existing;
  std::lock_guard lock(*creation);
  if (ThreadPool* existing = current_pool.load(std::memory_order_acquire)) return *existing;
  auto* created = new ThreadPool(thread_count());
  current_pool.store(created, std::memory_order_release);
  return *created;
}

}  // namespace

std::size_t thread_count() {
  static constinit Kept<std::size_t> count;
  return count.get([] {
    if (const auto set = environment_number("TILEWRIGHT_NUM_THREADS", 1, 1024)) {
      return static_cast<std::size_t>(*set);
    }
    return usable_processors();
  });
}

std::size_t piece_count(std::size_t n, std::size_t grain) {
  const std::size_t threads = thread_count();
  if (threads <= 1) return 1;
  const std::size_t by_grain = n / std::max<std::size_t>(grain, 1);
  if (by_grain <= 1) return 1;
  return std::min(by_grain, threads * pieces_per_thread);
}

void run_tasks(std::size_t tasks, void (*task)(void*, std::size_t), void* context) {
  constexpr std::size_t most_at_once = 0xfffffff0u;
  if (tasks > 1 && tasks < most_at_once && !inside_task && thread_count() > 1 &&
      pool().try_run(tasks, task, context)) {
    return;
  }
  for (std::size_t i = 0; i < tasks; ++i) task(context, i);
}

}  // namespace tilewright::cpu
