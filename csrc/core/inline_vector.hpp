#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>

namespace tilewright {

/// At most `most` small values in place: what a call's checks are made of takes no memory.
template <class T, std::size_t most>
class InlineVector {
 public:
  InlineVector() = default;
  InlineVector(const InlineVector& other) : size_(other.size_) {
    std::copy_n(other.values_.begin(), size_, values_.begin());
  }
  InlineVector& operator=(const InlineVector& other) {
    size_ = other.size_;
    std::copy_n(other.values_.begin(), size_, values_.begin());
    return *this;
  }

  void push_back(T value) { values_[size_++] = value; }
  void resize(std::size_t size) { size_ = size; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return values_[i]; }
  const T& operator[](std::size_t i) const { return values_[i]; }
  T& back() { return values_[size_ - 1]; }
  const T& back() const { return values_[size_ - 1]; }
  T* begin() { return values_.data(); }
  T* end() { return values_.data() + size_; }
  const T* begin() const { return values_.data(); }
  const T* end() const { return values_.data() + size_; }
  operator std::span<const T>() const { return {values_.data(), size_}; }

 private:
  std::size_t size_ = 0;
  std::array<T, most> values_;
};

}  // namespace tilewright
