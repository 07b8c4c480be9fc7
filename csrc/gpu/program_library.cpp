#include "gpu/program_library.hpp"

#include <utility>

namespace tilewright::gpu {

std::shared_ptr<const Pipeline> ProgramLibrary::compile(const ProgramData& program,
                                                        const ProgramForm& form) {
  return device_.create_pipeline(program_kernel(program, form, device_.language()));
}

std::shared_ptr<const Pipeline> ProgramLibrary::get(
    const std::shared_ptr<const ProgramData>& program, const ProgramForm& form) {
  if (capacity_ == 0) return compile(*program, form);
  const std::uint64_t hash = program->hash ^ form.hash();
  std::shared_ptr<Kept> entry;
  std::shared_ptr<Kept> dropped;  // goes without the lock
  {
    std::lock_guard lock(mutex_);
    if (const auto found = kept_.find({program.get(), &form, hash}); found != kept_.end()) {
      order_.splice(order_.begin(), order_, found->second);
      if (order_.front()->pipeline) return order_.front()->pipeline;
      entry = order_.front();
    } else {
      if (order_.size() >= capacity_) {
        dropped = order_.back();
        kept_.erase(dropped->key());
        order_.pop_back();
      }
      order_.push_front(std::make_shared<Kept>(program, form, hash));
      entry = order_.front();
      kept_.emplace(entry->key(), order_.begin());
    }
  }
  std::lock_guard alone(entry->compiling);
  if (!entry->pipeline) {
    std::shared_ptr<const Pipeline> made = compile(*program, form);
    std::lock_guard lock(mutex_);
    entry->pipeline = std::move(made);
  }
  return entry->pipeline;
}

}  // namespace tilewright::gpu
