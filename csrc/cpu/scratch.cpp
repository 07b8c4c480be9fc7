#include "cpu/scratch.hpp"

#include <new>
#include <utility>

#include "core/text.hpp"
#include "tilewright/error.hpp"

namespace tilewright::cpu {

namespace {

constexpr std::size_t most_kept = std::size_t{4} << 20;  // floats
constexpr auto alignment = static_cast<std::align_val_t>(64);

struct KeptBlock {
  float* block = nullptr;
  std::size_t capacity = 0;
  ~KeptBlock() { ::operator delete(block, alignment); }
};
thread_local KeptBlock kept;

}  // namespace

Scratch::Scratch(std::size_t floats)
    : block_(std::exchange(kept.block, nullptr)), capacity_(std::exchange(kept.capacity, 0)) {
  floats = rounded(floats);
  if (capacity_ >= floats) return;
  ::operator delete(block_, alignment);
  block_ = static_cast<float*>(::operator new(floats * sizeof(float), alignment, std::nothrow));
  capacity_ = floats;
  if (block_ == nullptr) {
    throw OutOfMemory(text("the system has no ", floats * sizeof(float),
                           " bytes for the working memory of this call; free some"),
                      floats * sizeof(float));
  }
}

Scratch::~Scratch() {
  if (capacity_ > most_kept || kept.block != nullptr) {
    ::operator delete(block_, alignment);
  } else {
    kept.block = block_;
    kept.capacity = capacity_;
  }
}

float* Scratch::take(std::size_t floats) {
  return block_ + std::exchange(taken_, taken_ + rounded(floats));
}

}  // namespace tilewright::cpu
