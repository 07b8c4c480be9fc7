#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numbers>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "json.hpp"
#include "tilewright/tilewright.hpp"

namespace tw = tilewright;

/// A file of JSON.
inline Json read_json(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path.string() + ": it cannot be read");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return JsonParser(text, path.string()).parse();
}

/// What config.json says of a Llama. Throws where it says what this program does not compute.
class LlamaConfig {
 public:
  explicit LlamaConfig(const std::filesystem::path& folder)
      : file_((folder / "config.json").string()), json_(read_json(file_)) {
    expect(text(json_, "model_type", "") == "llama", "model_type", "llama");
    expect(text(json_, "hidden_act", "silu") == "silu", "hidden_act", "silu");
    for (const char* bias : {"attention_bias", "mlp_bias"}) expect(!flag(bias), bias, "false");
    expect(json_.find("quantization_config") == nullptr, "quantization_config", "none");
    expect(number(json_, "partial_rotary_factor", 1) == 1, "partial_rotary_factor", "1");
    hidden = integer("hidden_size");
    layers = integer("num_hidden_layers");
    heads = integer("num_attention_heads");
    kv_heads = integer("num_key_value_heads", heads);
    expect(heads % kv_heads == 0, "num_key_value_heads", "a divisor of num_attention_heads");
    head = integer("head_dim", std::max<tw::Size>(hidden / heads, 1));
    expect(head % 2 == 0, "head_dim", "an even number");
    inner = integer("intermediate_size");
    vocabulary = integer("vocab_size");
    longest = integer("max_position_embeddings", 2048);
    eps = number(json_, "rms_norm_eps", 1e-6);
    ties = flag("tie_word_embeddings");
    // The file of how texts are made has the last word on what ends them.
    const auto generation = folder / "generation_config.json";
    add_ends(json_);
    if (std::filesystem::exists(generation)) add_ends(read_json(generation));
  }

  tw::Size hidden = 0, layers = 0, heads = 0, kv_heads = 0, head = 0;
  tw::Size inner = 0, vocabulary = 0, longest = 0;
  double eps = 0;
  bool ties = false;            ///< whether the words' table is the last matrix too
  std::set<std::int32_t> ends;  ///< tokens that end a text

  /// Cosines and sines of the places up to context, [context, head / 2].
  std::pair<std::vector<float>, std::vector<float>> rotations(tw::Size context) const {
    const std::vector<double> steps = rotation_steps();
    std::vector<float> cosines, sines;
    for (tw::Size place = 0; place < context; ++place) {
      for (const double step : steps) {
        cosines.push_back(static_cast<float>(std::cos(static_cast<double>(place) * step)));
        sines.push_back(static_cast<float>(std::sin(static_cast<double>(place) * step)));
      }
    }
    return {cosines, sines};
  }

 private:
  /// By how much each pair of a head turns from place to place.
  std::vector<double> rotation_steps() const {
    // Newer files have all of it in one object.
    static const Json none;
    const Json* found = json_.find("rope_scaling");
    if (found == nullptr) found = json_.find("rope_parameters");
    const Json& rope = found == nullptr ? none : *found;
    const double theta = number(json_, "rope_theta", number(rope, "rope_theta", 10000));
    const std::string kind = text(rope, "rope_type", text(rope, "type", "default"));
    expect(kind == "default" || kind == "linear" || kind == "llama3", "rope_scaling",
           "of the kind default, linear or llama3");
    const double factor = number(rope, "factor", 1);
    const double low = number(rope, "low_freq_factor", 1);
    const double high = number(rope, "high_freq_factor", 4);
    const double trained =
        number(rope, "original_max_position_embeddings", static_cast<double>(longest));
    expect(factor > 0 && high > low, "rope_scaling",
           "of a factor above 0 and ascending frequencies");
    std::vector<double> steps;
    for (tw::Size i = 0; i < head / 2; ++i) {
      double step = std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(head));
      if (kind == "linear") step /= factor;
      if (kind == "llama3") {
        // What turns often within the trained length stays, what turns seldom is stretched.
        const double turns = trained * step / (2 * std::numbers::pi);
        const double share = std::clamp((turns - low) / (high - low), 0.0, 1.0);
        step *= share + (1 - share) / factor;
      }
      steps.push_back(step);
    }
    return steps;
  }

  void add_ends(const Json& json) {
    const Json* found = json.find("eos_token_id");
    if (found == nullptr) return;
    ends.clear();
    const auto add = [this](const Json& each) {
      const double* token = each.as<double>();
      if (token != nullptr && std::abs(*token) < 0x1p30) {
        ends.insert(static_cast<std::int32_t>(*token));
      }
    };
    add(*found);
    if (const auto* list = found->as<Json::List>()) std::ranges::for_each(*list, add);
  }

  /// A size, from 1 to 2^30; without a fallback it must be there.
  tw::Size integer(const char* key, tw::Size fallback = 0) const {
    const double found = number(json_, key, static_cast<double>(fallback));
    expect(found >= 1 && found <= 0x1p30 && found == std::floor(found), key, "an integer above 0");
    return static_cast<tw::Size>(found);
  }
  double number(const Json& json, const char* key, double fallback) const {
    return value(json, key, fallback, "a number");
  }
  std::string text(const Json& json, const char* key, const std::string& fallback) const {
    return value(json, key, fallback, "a string");
  }
  bool flag(const char* key) const { return value(json_, key, false, "true or false"); }

  template <class T>
  T value(const Json& json, const char* key, const T& fallback, const char* expected) const {
    const Json* found = json.find(key);
    if (found == nullptr) return fallback;
    expect(found->as<T>() != nullptr, key, expected);
    return *found->as<T>();
  }
  void expect(bool holds, const std::string& key, const std::string& expected) const {
    if (!holds) throw std::runtime_error(file_ + ": " + key + " is expected to be " + expected);
  }

  std::string file_;
  Json json_;
};
