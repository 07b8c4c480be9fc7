#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/choice_file.hpp"
#include "tilewright/export.hpp"
#include "tilewright/types.hpp"

namespace tilewright {

class Backend;

/// A place in an op's planning where several kernels give the same result. An op has a rule that
/// names one of them; a table of measurements may name a quicker one for some shapes.
struct ChoicePoint {
  std::string_view name;
  std::span<const std::string_view> candidates;  ///< by names that last: files hold them
  std::array<std::string_view, 16> flags{};      ///< what sets requests apart besides their sizes
};

/// The names of a table of candidates that each have one.
template <class Candidate, std::size_t count>
constexpr std::array<std::string_view, count> names_of(const Candidate (&candidates)[count]) {
  std::array<std::string_view, count> names;
  for (std::size_t i = 0; i < count; ++i) names[i] = candidates[i].name;
  return names;
}

/// What a choice depends on: sizes to the nearest power of two, six bits each, above the flags.
class ChoiceShape {
 public:
  constexpr ChoiceShape(std::initializer_list<Size> sizes, std::initializer_list<bool> flags) {
    std::size_t at = flag_bits;
    for (Size size : sizes) {
      bits_ |= (1 + exponent(size)) << at;
      at += size_bits;
    }
    std::size_t flag = 0;
    for (bool set : flags) bits_ |= std::uint64_t{set} << flag++;
  }
  constexpr explicit ChoiceShape(std::uint64_t bits) : bits_(bits) {}
  constexpr std::uint64_t bits() const { return bits_; }

  static constexpr std::size_t flag_bits = 16;
  static constexpr std::size_t size_bits = 6;

 private:
  /// Of the nearest power of two: 3 counts as 4, 5 as 4.
  static constexpr std::uint64_t exponent(Size size) {
    const auto n = static_cast<std::uint64_t>(size);
    return std::min<std::uint64_t>(std::bit_width(n / 3 * 2 + n % 3 / 2), 62);
  }

  std::uint64_t bits_ = 0;
};

/// "1024x1024x64" and "float16+trans_b" ("-" without flags), and back.
std::string sizes_text(ChoiceShape shape);
std::string flags_text(const ChoicePoint& point, ChoiceShape shape);
std::optional<ChoiceShape> shape_of(const ChoicePoint& point, std::string_view sizes,
                                    std::string_view flags);

/// A choice that was made, for tools.
struct MadeChoice {
  std::string point, sizes, flags, rule, taken;
  std::vector<std::string> candidates;  ///< those that the request and the device admit
};

/// Decides between the candidates of all points: by the table of this device, where there is one,
/// else by the op's rule. Tools may watch and force it. Every method may be called from any thread.
class Choices {
 public:
  using Points = std::span<const ChoicePoint* const>;

  /// Takes the table of `file`, where there is one for this identity.
  Choices(Points points, ChoiceFile file);

  /// The candidate to take: `rule`, unless another one that fits(candidate) admits is known to be
  /// quicker.
  template <class Fits>
  std::size_t pick(const ChoicePoint& point, std::initializer_list<Size> sizes,
                   std::initializer_list<bool> flags, std::size_t rule, const Fits& fits) {
    if (!in_use_.load(std::memory_order_relaxed)) [[likely]]
      return rule;
    std::uint32_t admitted = 0;
    for (std::size_t i = 0; i < point.candidates.size(); ++i) {
      admitted |= std::uint32_t{fits(i)} << i;
    }
    return decide(point, ChoiceShape(sizes, flags), rule, admitted);
  }
  std::size_t pick(const ChoicePoint& point, std::initializer_list<Size> sizes,
                   std::initializer_list<bool> flags, std::size_t rule) {
    return pick(point, sizes, flags, rule, [](std::size_t) { return true; });
  }

  /// Whether tools force or watch choices: what followed from them before may not any more.
  bool tools_are_at_work() const { return tools_.load(std::memory_order_relaxed); }

  Points points() const { return points_; }
  const ChoiceFile& file() const { return file_; }
  /// How many choices the table holds; nothing where there is no table.
  std::optional<std::size_t> loaded() const { return loaded_; }

  /// Takes this candidate at this point, whatever the table says, wherever it is admitted; an empty
  /// name ends that. Throws InvalidArgument where a name is unknown.
  TILEWRIGHT_API void force(std::string_view point, std::string_view candidate);
  /// Whether choices are remembered.
  TILEWRIGHT_API void watch(bool on);
  /// The choices made while watched since the last call, each once, by the order of the points.
  TILEWRIGHT_API std::vector<MadeChoice> take_made();

 private:
  struct Key {
    const ChoicePoint* point;
    std::uint64_t shape;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return std::hash<std::uint64_t>{}(key.shape * 0x9e3779b97f4a7c15 ^
                                        reinterpret_cast<std::uintptr_t>(key.point));
    }
  };
  struct Made {
    std::size_t rule, taken;
    std::uint32_t admitted;
  };

  void load();
  const ChoicePoint* find(std::string_view name) const;
  std::size_t decide(const ChoicePoint& point, ChoiceShape shape, std::size_t rule,
                     std::uint32_t admitted);

  Points points_;
  ChoiceFile file_;
  std::unordered_map<Key, std::size_t, Hash> table_;  // fixed once loaded
  std::optional<std::size_t> loaded_;
  std::atomic<bool> in_use_{false};  // by a table or by a tool
  std::atomic<bool> tools_{false};

  std::mutex mutex_;  // guards what follows
  bool watched_ = false;
  std::unordered_map<const ChoicePoint*, std::size_t> forced_;
  std::unordered_map<Key, Made, Hash> made_;
};

/// The choices of an initialised backend, for tools; null where its ops have none.
TILEWRIGHT_API std::shared_ptr<Choices> choices_of(Backend& backend);

}  // namespace tilewright
