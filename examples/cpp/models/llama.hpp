#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "llama_config.hpp"
#include "safetensors.hpp"
#include "tilewright/tilewright.hpp"

/// A Llama for one text of at most `context` tokens. All buffers are made here; a step of decoding
/// is recorded once, and takes its token, its place and its length from where the step before it
/// left them on the device.
class Llama {
 public:
  Llama(std::shared_ptr<tw::Backend> backend, const LlamaConfig& config, const Safetensors& files,
        tw::Size context)
      : be_(std::move(backend)), c_(config), dtype_(files.float_type()), context_(context) {
    load(files);
    const auto [cosines, sines] = c_.rotations(context);
    cos_ = upload(std::as_bytes(std::span(cosines)), tw::DType::float32);
    sin_ = upload(std::as_bytes(std::span(sines)), tw::DType::float32);

    const tw::Size rows = std::min(chunk, context), query = c_.heads * c_.head;
    tokens_ = integers(rows), places_ = integers(rows), length_ = integers(1);
    for (tw::OwnedBuffer* each : {&x_, &normed_, &change_}) *each = floats(rows * c_.hidden);
    fused_ = floats(rows * fused());
    mixed_ = floats(rows * query);
    gated_ = floats(rows * c_.inner);
    logits_ = floats(c_.vocabulary);
    for (Layer& layer : layers_) layer.cache = floats(context * 2 * kv());

    // Which logit is the largest.
    logit_.output(logit_.input(dtype_));
    index_.output(index_.input(tw::DType::int32));
    // The place behind a place, and how many tokens there are up to that.
    const auto place = next_.input(tw::DType::int32);
    const auto following = next_.apply("add", {place, next_.constant(1, tw::DType::int32)});
    next_.output(following);
    next_.output(next_.apply("add", {following, next_.constant(1, tw::DType::int32)}));
  }

  /// Reads a prompt: keys and values of all its tokens but the last, which the first step takes.
  void read(const std::vector<std::int32_t>& prompt) {
    const auto last = static_cast<tw::Size>(prompt.size()) - 1;
    for (tw::Size first = 0; first < last; first += chunk) {
      const tw::Size rows = std::min(chunk, last - first);
      std::vector<std::int32_t> places(static_cast<std::size_t>(rows));
      std::iota(places.begin(), places.end(), static_cast<std::int32_t>(first));
      put(tokens_, std::span(prompt).subspan(static_cast<std::size_t>(first), places.size()));
      put(places_, places);
      put(length_, std::vector{static_cast<std::int32_t>(first + rows)});
      forward(rows);
    }
    put(tokens_, std::vector{prompt.back()});
    put(places_, std::vector{static_cast<std::int32_t>(last)});
    put(length_, std::vector{static_cast<std::int32_t>(last + 1)});
    step_ = be_->record();
    forward(1);
    choose();
    step_.end();
  }

  /// The likeliest token behind all before it.
  std::int32_t next() {
    std::int32_t token = 0;
    step_.replay();
    be_->copy_dtoh(std::as_writable_bytes(std::span(&token, 1)), tokens_);
    return token;
  }

 private:
  /// Tokens of a prompt that go through the layers together.
  static constexpr tw::Size chunk = 256;

  struct Layer {
    tw::OwnedBuffer norm, fused, out, inner_norm, gates, outer;
    tw::OwnedBuffer cache;  ///< of each place its keys and then its values
  };

  tw::Size kv() const { return c_.kv_heads * c_.head; }
  tw::Size fused() const { return c_.heads * c_.head + 2 * kv(); }

  /// Rows of tokens_, which stand at places_, through all layers: normed_ has what comes out.
  void forward(tw::Size rows) {
    const tw::Size hidden = c_.hidden;
    be_->gather(words_, tokens_, x_, c_.vocabulary, hidden, rows, dtype_);
    be_->rmsnorm(x_, layers_[0].norm, normed_, rows, hidden, c_.eps, dtype_);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const Layer& layer = layers_[i];
      multiply(normed_, layer.fused, fused_, rows, fused(), hidden);
      attend(layer, rows);
      multiply(mixed_, layer.out, change_, rows, hidden, c_.heads * c_.head);
      add_and_norm(layer.inner_norm, rows);
      // silu of the first half of the results, times the other half.
      multiply(normed_, layer.gates, gated_, rows, c_.inner, hidden, tw::Activation::silu, true);
      multiply(gated_, layer.outer, change_, rows, hidden, c_.inner);
      add_and_norm(i + 1 < layers_.size() ? layers_[i + 1].norm : norm_, rows);
    }
  }

  /// mixed_ from the queries, keys and values that lie side by side in fused_; keys and values go
  /// to the cache.
  void attend(const Layer& layer, tw::Size rows) {
    const tw::Size head = c_.head, query = c_.heads * head;
    // [batch, heads, rows, head] of what lies as [rows, heads, head].
    const tw::Size in_fused[] = {0, head, fused(), 1}, in_cache[] = {0, head, 2 * kv(), 1};
    const tw::Size in_mixed[] = {0, head, query, 1};
    const tw::MapOperand turned{fused_, in_fused};
    be_->rope(turned, cos_, sin_, turned, 1, c_.heads + c_.kv_heads, rows, head, context_, 0,
              dtype_, tw::RopePairing::halves, std::nullopt, places_, rows);

    const tw::Size shape[] = {rows, 2 * kv()}, of_row[] = {1, 0};
    const tw::Size from[] = {fused(), 1}, to[] = {0, 1};
    const tw::IndexOperand place{{places_, of_row}, tw::DType::int32, context_, 2 * kv(), 0};
    be_->scatter_elements({fused_, from, query}, std::span(&place, 1), {layer.cache, to}, shape,
                          dtype_);

    // at_end: the last query stands at the last of length_ keys.
    be_->attention(turned, {layer.cache, in_cache}, {layer.cache, in_cache, kv()},
                   {mixed_, in_mixed}, 1, c_.heads, rows, context_, head,
                   1 / std::sqrt(static_cast<double>(head)), /*causal=*/true, 0, c_.kv_heads,
                   dtype_, std::nullopt, tw::DType::boolean, 0, std::nullopt, std::nullopt,
                   std::nullopt,
                   /*at_end=*/true, length_);
  }

  /// The largest logit behind a single row: the next token, and where it stands.
  void choose() {
    const tw::Size shape[] = {c_.vocabulary}, axes[] = {0}, one[] = {1};
    multiply(normed_, c_.ties ? words_ : last_, logits_, 1, c_.vocabulary, c_.hidden);
    be_->map_reduce(logit_, tw::Reduction::argmax, shape, axes,
                    std::vector<tw::MapOperand>{logits_}, {}, std::vector<tw::MapOperand>{tokens_},
                    &index_);
    be_->map(next_, one, std::vector<tw::MapOperand>{places_}, {},
             std::vector<tw::MapOperand>{places_, length_});
  }

  /// y[rows, to] = x[rows, from] * w[to, from]^T, or with a gate of twice as many rows of w.
  void multiply(tw::Buffer x, tw::Buffer w, tw::Buffer y, tw::Size rows, tw::Size to, tw::Size from,
                tw::Activation activation = tw::Activation::none, bool gated = false) {
    be_->linear(tw::Transpose::transpose, rows, to, from, x, from, w, from, y, to, std::nullopt,
                activation, 0.01, gated, dtype_);
  }
  /// x_ += change_, and normed_ of it.
  void add_and_norm(tw::Buffer weight, tw::Size rows) {
    be_->rmsnorm(change_, weight, normed_, rows, c_.hidden, c_.eps, dtype_, x_, x_);
  }

  void load(const Safetensors& files) {
    const tw::Size h = c_.hidden, query = c_.heads * c_.head;
    using Parts = std::vector<const StoredTensor*>;
    const auto one = [&](const std::string& name, const std::vector<tw::Size>& shape) {
      return &files.find("model." + name + ".weight", shape);
    };
    words_ = weights({one("embed_tokens", {c_.vocabulary, h})});
    norm_ = weights({one("norm", {h})});
    if (!c_.ties) last_ = weights({&files.find("lm_head.weight", {c_.vocabulary, h})});
    for (tw::Size i = 0; i < c_.layers; ++i) {
      const std::string at = "layers." + std::to_string(i) + ".";
      const std::string attn = at + "self_attn.", mlp = at + "mlp.";
      Layer& layer = layers_.emplace_back();
      layer.norm = weights({one(at + "input_layernorm", {h})});
      layer.fused = weights(Parts{one(attn + "q_proj", {query, h}), one(attn + "k_proj", {kv(), h}),
                                  one(attn + "v_proj", {kv(), h})});
      layer.out = weights({one(attn + "o_proj", {h, query})});
      layer.inner_norm = weights({one(at + "post_attention_layernorm", {h})});
      layer.gates = weights(
          Parts{one(mlp + "gate_proj", {c_.inner, h}), one(mlp + "up_proj", {c_.inner, h})});
      layer.outer = weights({one(mlp + "down_proj", {h, c_.inner})});
    }
  }

  /// Matrices below each other, so that one product does for all.
  tw::OwnedBuffer weights(const std::vector<const StoredTensor*>& parts) {
    std::vector<tw::OwnedBuffer> made;
    tw::Size bytes = 0, at = 0;
    for (const StoredTensor* part : parts) {
      made.push_back(upload(Safetensors::read(*part), part->dtype));
      bytes += made.back().bytes();
    }
    if (made.size() == 1) return std::move(made[0]);
    tw::OwnedBuffer joined(be_, bytes);
    for (const tw::OwnedBuffer& part : made) {
      be_->copy_dtod(joined, part, part.bytes(), at);
      at += part.bytes();
    }
    return joined;
  }

  /// Numbers on the device in the dtype of the computation; the device converts them.
  tw::OwnedBuffer upload(std::span<const std::byte> bytes, tw::DType from) {
    tw::OwnedBuffer raw(be_, static_cast<tw::Size>(bytes.size()));
    be_->copy_htod(raw, bytes);
    if (from == dtype_) return raw;
    const auto count = static_cast<tw::Size>(bytes.size() / tw::size_of(from));
    tw::OwnedBuffer made = floats(count);
    be_->cast(raw, from, made, dtype_, count);
    return made;
  }
  void put(tw::Buffer buffer, std::span<const std::int32_t> values) {
    be_->copy_htod(buffer, std::as_bytes(values));
  }
  tw::OwnedBuffer floats(tw::Size n) {
    return {be_, n * static_cast<tw::Size>(tw::size_of(dtype_))};
  }
  tw::OwnedBuffer integers(tw::Size n) { return {be_, n * 4}; }

  std::shared_ptr<tw::Backend> be_;
  LlamaConfig c_;
  tw::DType dtype_;
  tw::Size context_;
  tw::OwnedBuffer words_, norm_, last_, cos_, sin_;
  std::vector<Layer> layers_;
  tw::OwnedBuffer tokens_, places_, length_;  // int32
  tw::OwnedBuffer x_, normed_, change_, fused_, mixed_, gated_, logits_;
  tw::Program logit_, index_, next_;
  tw::Recording step_;
};
