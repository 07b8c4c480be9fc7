#include "core/memory_budget.hpp"

#include "core/text.hpp"
#include "tilewright/error.hpp"

namespace tilewright {

void MemoryBudget::refuse(std::string_view op, std::uint64_t bytes) const {
  throw OutOfMemory(text(op, ": ", bytes, " bytes of scratch needed, but ", held(), " of ", limit(),
                         " are in use; free some buffers, or raise memory_limit"),
                    bytes);
}

void MemoryBudget::take_scratch(std::string_view op, std::uint64_t bytes) {
  if (!take(bytes)) refuse(op, bytes);
  scratch_ += bytes;
}

}  // namespace tilewright
