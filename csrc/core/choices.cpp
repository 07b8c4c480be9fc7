#include "core/choices.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/environment.hpp"
#include "core/text.hpp"
#include "tilewright/error.hpp"

namespace tilewright {

namespace {

constexpr std::uint64_t size_mask = (std::uint64_t{1} << ChoiceShape::size_bits) - 1;

std::size_t index_of(const ChoicePoint& point, std::string_view candidate) {
  const auto found = std::ranges::find(point.candidates, candidate);
  return static_cast<std::size_t>(found - point.candidates.begin());
}

std::string list(std::span<const std::string_view> names) {
  std::string all;
  for (std::string_view name : names) all += text(all.empty() ? "" : ", ", name);
  return all;
}

}  // namespace

std::string sizes_text(ChoiceShape shape) {
  std::string result;
  for (std::uint64_t left = shape.bits() >> ChoiceShape::flag_bits; left != 0;
       left >>= ChoiceShape::size_bits) {
    const std::uint64_t size = std::uint64_t{1} << ((left & size_mask) - 1);
    result += text(result.empty() ? "" : "x", size);
  }
  return result;
}

std::string flags_text(const ChoicePoint& point, ChoiceShape shape) {
  std::string result;
  for (std::size_t i = 0; i < point.flags.size(); ++i) {
    if ((shape.bits() >> i & 1) != 0) result += text(result.empty() ? "" : "+", point.flags[i]);
  }
  return result.empty() ? "-" : result;
}

std::optional<ChoiceShape> shape_of(const ChoicePoint& point, std::string_view sizes,
                                    std::string_view flags) {
  std::uint64_t bits = 0;
  const char* at = sizes.data();
  const char* const end = at + sizes.size();
  for (std::size_t place = ChoiceShape::flag_bits;; place += ChoiceShape::size_bits, ++at) {
    std::uint64_t size = 0;
    const auto [stop, error] = std::from_chars(at, end, size);
    if (error != std::errc() || !std::has_single_bit(size) || place >= 64) return std::nullopt;
    bits |= static_cast<std::uint64_t>(std::bit_width(size)) << place;
    at = stop;
    if (at == end) break;
    if (*at != 'x') return std::nullopt;
  }
  while (flags != "-") {
    const std::size_t plus = flags.find('+');
    const auto found = std::ranges::find(point.flags, flags.substr(0, plus));
    if (found == point.flags.end() || found->empty()) return std::nullopt;
    bits |= std::uint64_t{1} << (found - point.flags.begin());
    if (plus == std::string_view::npos) break;
    flags.remove_prefix(plus + 1);
  }
  return ChoiceShape(bits);
}

Choices::Choices(Points points, ChoiceFile file) : points_(points), file_(std::move(file)) {
  if (environment_flag("TILEWRIGHT_TUNING", true)) load();
}

void Choices::load() {
  const auto entries = file_.read();
  if (!entries) return;
  for (const ChoiceEntry& entry : *entries) {
    const ChoicePoint* const point = find(entry.point);
    const auto shape = point ? shape_of(*point, entry.sizes, entry.flags) : std::nullopt;
    const std::size_t candidate = shape ? index_of(*point, entry.candidate) : 0;
    if (!shape || candidate == point->candidates.size()) {
      file_.warn(text("there is no choice \"", entry.point, " ", entry.sizes, " ", entry.flags, " ",
                      entry.candidate, "\""));
      table_.clear();
      return;
    }
    table_[{point, shape->bits()}] = candidate;
  }
  loaded_ = table_.size();
  in_use_ = !table_.empty();
}

const ChoicePoint* Choices::find(std::string_view name) const {
  const auto found = std::ranges::find(points_, name, &ChoicePoint::name);
  return found == points_.end() ? nullptr : *found;
}

std::size_t Choices::decide(const ChoicePoint& point, ChoiceShape shape, std::size_t rule,
                            std::uint32_t admitted) {
  const auto admit = [&](std::size_t candidate) {
    return (admitted >> candidate & 1) != 0 ? candidate : rule;
  };
  const Key key{&point, shape.bits()};
  const auto known = table_.find(key);
  std::size_t taken = known == table_.end() ? rule : admit(known->second);
  if (!tools_.load(std::memory_order_relaxed)) return taken;
  std::lock_guard lock(mutex_);
  if (const auto forced = forced_.find(&point); forced != forced_.end()) {
    taken = admit(forced->second);
  }
  if (watched_) made_[key] = {rule, taken, admitted};
  return taken;
}

void Choices::force(std::string_view name, std::string_view candidate) {
  const ChoicePoint* const point = find(name);
  if (point == nullptr) {
    std::vector<std::string_view> names;
    for (const ChoicePoint* known : points_) names.push_back(known->name);
    throw InvalidArgument(text("\"", name, "\" is no choice, expected one of ", list(names)));
  }
  const std::size_t index = index_of(*point, candidate);
  if (!candidate.empty() && index == point->candidates.size()) {
    throw InvalidArgument(text("\"", candidate, "\" is no candidate of ", name,
                               ", expected one of ", list(point->candidates)));
  }
  std::lock_guard lock(mutex_);
  if (candidate.empty()) {
    forced_.erase(point);
  } else {
    forced_[point] = index;
  }
  tools_ = in_use_ = true;
}

void Choices::watch(bool on) {
  std::lock_guard lock(mutex_);
  watched_ = on;
  if (!on) made_.clear();
  tools_ = in_use_ = true;
}

std::vector<MadeChoice> Choices::take_made() {
  std::lock_guard lock(mutex_);
  std::vector<MadeChoice> all;
  for (const ChoicePoint* const point : points_) {
    for (const auto& [key, made] : made_) {
      if (key.point != point) continue;
      const ChoiceShape shape(key.shape);
      MadeChoice choice{std::string(point->name),
                        sizes_text(shape),
                        flags_text(*point, shape),
                        std::string(point->candidates[made.rule]),
                        std::string(point->candidates[made.taken]),
                        {}};
      for (std::size_t i = 0; i < point->candidates.size(); ++i) {
        if ((made.admitted >> i & 1) != 0) choice.candidates.emplace_back(point->candidates[i]);
      }
      all.push_back(std::move(choice));
    }
  }
  made_.clear();
  return all;
}

}  // namespace tilewright
