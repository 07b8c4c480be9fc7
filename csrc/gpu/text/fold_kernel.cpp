#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/text.hpp"
#include "gpu/text/fold_form.hpp"
#include "gpu/text/fold_moments.hpp"
#include "gpu/text/kernel_builder.hpp"
#include "gpu/text/program_form.hpp"
#include "gpu/text/walk_writer.hpp"

// The kernel of reductions and scans, in whatever language its builder writes.
namespace tilewright::gpu {

namespace {

/// Of argmax and argmin, where there is no element.
constexpr std::uint32_t no_place = ~std::uint32_t{0};

using Quad = KernelBuilder::Quad;
using Variable = KernelBuilder::Variable;

/// A value, and where it was found.
struct Found {
  Quad value, place{};
};
struct Kept {
  Variable value, place{};
};

class Writer : WalkWriter {
 public:
  Writer(const ProgramData& front, const FoldForm& form, KernelLanguage language)
      : front_(front),
        form_(form),
        dtype_(dtype_of(class_of(front.output_dtype()))),
        step_(is_apart(form) ? form.walkers : 1) {
    const auto list = [&](const std::vector<FoldOperand>& operands, bool written) {
      for (const FoldOperand& o : operands) {
        places_.push_back(operands_.size());
        if (o.walk == FoldWalk::none) continue;
        operands_.push_back({o.dtype, o.binding, o.walk == FoldWalk::quads, o.writable, written});
      }
    };
    list(form.inputs, false);
    list(form.others, false);
    list(form.outputs, true);
    list(form.parts, false);
    name_ = text(form.scan ? "scan_" : "map_reduce_", to_string(form.op));
    const KernelBuilder::Layout layout{
        name_,  form.group, fold_params_words(front, form), form.params_in_buffer,
        dtype_, operands_};
    b_ = language == KernelLanguage::spirv ? spirv_builder(layout) : wgsl_builder(layout);
    const bool is_ordered = form.finds_place() || form.op == Reduction::max || is_least();
    is_keyed_ = !form.scan && is_ordered && b_->has_keys(dtype_);
    if (is_keyed_) joins_ = DType::uint32;
  }

  KernelDescription write() {
    begin();
    if (form_.scan) {
      scan();
    } else if (form_.finds_moments()) {
      find_moments();
    } else {
      reduce();
    }
    return b_->finish();
  }

 private:
  static bool is_apart(const FoldForm& form) {
    return !form.scan && std::ranges::none_of(form.inputs, [](const FoldOperand& o) {
      return o.walk == FoldWalk::quads;
    });
  }

  // Where a work-item is ------------------------------------------------------------------------

  void begin() {
    results_ = b_->parameter();
    length_ = b_->parameter();
    piece_ = b_->parameter();
    blocks_ = b_->parameter();
    first_part_ = b_->parameter();
    place_base_ = b_->parameter();
    take_shape(form_.kept, form_.reduced);
    take_operands(form_.inputs, true);
    take_operands(form_.others, form_.scan);
    take_operands(form_.outputs, form_.scan);
    b_->program(0, front_);
    if (form_.behind) b_->program(1, *form_.behind);

    const Word group = b_->group();
    local_ = b_->local();
    block_ = remainder(group, blocks_);
    number_ = divide(group, blocks_);
    const std::uint32_t walkers = form_.walkers, side_by_side = form_.group / walkers;
    const Word by = word(form_.rows ? walkers : side_by_side);
    const Word slow = divide(local_, by), quick = remainder(local_, by);
    walker_ = form_.rows ? quick : slow;
    step_of_walker_ = form_.rows ? 1 : side_by_side;
    result_ = add(times(block_, word(side_by_side)), form_.rows ? slow : quick);
    // Work-items without a result do as the last one does, and write nothing.
    const Word last = subtract(results_, word(1));
    const Word mine = least(result_, last);
    begin_ = least(times(number_, piece_), length_);
    end_ = least(add(begin_, piece_), length_);
    alive_ = b_->both(b_->less(result_, results_), b_->less(begin_, end_));
    mine_ = mine;
    take_row(mine);
    for (const auto* operands : {&form_.inputs, &form_.others, &form_.outputs}) {
      for (const FoldOperand& o : *operands) add_base(o, mine);
    }
    identity_ = is_keyed_ ? b_->quad(word(0))
                : form_.finds_place()
                    ? b_->constant(dtype_, 0)
                    : b_->constant(dtype_, identity_bits(form_.op, form_.identity_of));
    if (form_.finds_place()) nowhere_ = b_->constant(DType::uint32, no_place);
  }
  /// Those of the four elements from k on, which of them are this piece's, and all kept to it.
  struct Numbers {
    Quad numbers, ours, inside;
  };
  Numbers numbers_of(Word k) {
    const Quad apart = step_ == 1 ? four_ : u32(ElementOp::mul_, four_, b_->quad(word(step_)));
    const Quad numbers = u32(ElementOp::add_, b_->quad(k), apart);
    const Word last = subtract(end_, word(1));
    return {numbers, below(numbers, b_->quad(end_)), u32(ElementOp::min_, numbers, b_->quad(last))};
  }
  /// What is read of the elements from k on.
  struct Read {
    Quad numbers, ours;
    std::vector<Quad> inputs;
    Quad place{};  // of parts
  };
  Read read(Word k) {
    Read all{};
    const Numbers four = numbers_of(k);
    all.numbers = four.numbers;
    all.ours = four.ours;
    const Quad inside = four.inside;
    const Word last = subtract(end_, word(1));
    const Word whole = least(k, times(divide(last, word(lanes)), word(lanes)));
    for (std::size_t i = 0; i < form_.inputs.size(); ++i) {
      const FoldOperand& o = form_.inputs[i];
      if (o.walk == FoldWalk::none) continue;
      all.inputs.push_back(o.walk == FoldWalk::quads
                               ? b_->read_quad(places_[i], place_of(i, whole))
                               : b_->read(places_[i], places_of(i, o, inside)));
    }
    if (form_.finds_place() && form_.takes_parts) {
      const std::size_t at =
          places_[form_.inputs.size() + form_.others.size() + form_.outputs.size()];
      all.place = b_->read(at, places_of(0, form_.inputs[0], inside));
    }
    return all;
  }
  Found element(const Read& read) {
    Quad value = b_->compute(0, read.inputs)[0];
    if (is_keyed_) value = key_of(value);
    if (is_keyed_ || !form_.finds_place()) value = choose(joins_, read.ours, value, identity_);
    if (!form_.finds_place()) return {value};
    const Quad place =
        form_.takes_parts ? read.place : u32(ElementOp::add_, read.numbers, b_->quad(place_base_));
    return {value, choose(DType::uint32, read.ours, place, nowhere_)};
  }
  bool is_least() const { return form_.op == Reduction::min || form_.op == Reduction::argmin; }
  Quad key_of(Quad value) {
    const Quad key = b_->key_of(value, is_least());
    if (!form_.finds_place()) return key;
    // The first of equals is found: of both zeros, and of all NaN.
    constexpr std::uint32_t lower_zero = 0x7f800000, least_nan = 0xff000002;
    const Quad is_lower =
        apply(ElementOp::equal_, DType::uint32, DType::boolean, {key, b_->quad(word(lower_zero))});
    return u32(ElementOp::min_,
               choose(DType::uint32, is_lower, b_->quad(word(lower_zero + 1)), key),
               b_->quad(word(least_nan)));
  }
  Quad of_key(Quad value) { return is_keyed_ ? b_->of_key(value, is_least()) : value; }

  // Joining -------------------------------------------------------------------------------------

  Quad joined(Quad a, Quad b) {
    return is_keyed_ ? u32(ElementOp::max_, a, b) : WalkWriter::joined(form_.op, dtype_, a, b);
  }
  Quad before(Quad a, Quad b) {
    const ElementOp op = form_.op == Reduction::argmax ? ElementOp::greater_ : ElementOp::less_;
    const Quad is = apply(op, dtype_, DType::boolean, {a, b});
    const ComputeClass kind = class_of(dtype_);
    if (kind != ComputeClass::f32 && kind != ComputeClass::f64) return is;
    const Quad nan = apply(ElementOp::isnan_, dtype_, DType::boolean, {a});
    const Quad other = apply(ElementOp::isnan_, dtype_, DType::boolean, {b});
    return either(is, both(nan, negated(other)));
  }
  Quad both(Quad a, Quad b) {
    return apply(ElementOp::bitwise_and_, DType::boolean, DType::boolean, {a, b});
  }
  Quad either(Quad a, Quad b) {
    return apply(ElementOp::bitwise_or_, DType::boolean, DType::boolean, {a, b});
  }
  Quad negated(Quad a) {
    return apply(ElementOp::bitwise_invert_, DType::boolean, DType::boolean, {a});
  }
  Found joined(const Found& a, const Found& b) {
    if (!form_.finds_place()) return {joined(a.value, b.value)};
    if (is_keyed_) {
      const Quad same = apply(ElementOp::equal_, DType::uint32, DType::boolean, {a.value, b.value});
      const Quad taken = either(below(a.value, b.value), both(same, below(b.place, a.place)));
      return {choose(joins_, taken, b.value, a.value),
              choose(DType::uint32, taken, b.place, a.place)};
    }
    const Quad a_is_none =
        apply(ElementOp::equal_, DType::uint32, DType::boolean, {a.place, nowhere_});
    const Quad b_is_some = below(b.place, nowhere_);
    const Quad first = both(negated(before(a.value, b.value)), below(b.place, a.place));
    const Quad better = either(before(b.value, a.value), first);
    const Quad taken = both(b_is_some, either(a_is_none, better));
    return {choose(dtype_, taken, b.value, a.value),
            choose(DType::uint32, taken, b.place, a.place)};
  }
  Found rotated(const Found& a, std::uint32_t by) {
    return {b_->rotated(a.value, by), form_.finds_place() ? b_->rotated(a.place, by) : Quad{}};
  }
  Kept keep(const Found& start) {
    return {b_->variable(joins_, start.value),
            form_.finds_place() ? b_->variable(DType::uint32, start.place) : Variable{}};
  }
  Found get(const Kept& kept) {
    return {b_->get(kept.value), form_.finds_place() ? b_->get(kept.place) : Quad{}};
  }
  void set(const Kept& kept, const Found& value) {
    b_->set(kept.value, value.value);
    if (form_.finds_place()) b_->set(kept.place, value.place);
  }

  // Reductions ----------------------------------------------------------------------------------

  void reduce() {
    const std::uint32_t walkers = form_.walkers, unroll = form_.unroll;
    std::vector<Kept> sums;
    for (std::uint32_t u = 0; u < unroll; ++u) sums.push_back(keep({identity_, nowhere_}));
    // Where one read has no four neighbours, neighbours are those of other walkers.
    const Word first = add(begin_, step_ == 1 ? times(walker_, word(lanes)) : walker_);
    b_->loop(first, end_, word(lanes * walkers * unroll), [&](Word k) {
      std::vector<Read> reads;
      for (std::uint32_t u = 0; u < unroll; ++u) {
        reads.push_back(read(u == 0 ? k : add(k, word(u * lanes * walkers))));
      }
      for (std::uint32_t u = 0; u < unroll; ++u) {
        set(sums[u], joined(get(sums[u]), element(reads[u])));
      }
    });
    Found all = get(sums[0]);
    for (std::uint32_t u = 1; u < unroll; ++u) all = joined(all, get(sums[u]));
    all = joined(all, rotated(all, 2));
    all = joined(all, rotated(all, 1));
    // With places always through the workgroup's memory: Intel's compiler for processors, on which
    // the tests of level-zero run, ends the process over such a kernel without a barrier.
    if (walkers == 1 && !form_.finds_place()) {
      b_->when(alive_, [&] { leave(all); });
      return;
    }
    const Local values = b_->local_array(joins_, form_.group);
    const Local places =
        form_.finds_place() ? b_->local_array(DType::uint32, form_.group) : Local{};
    const auto store = [&](const Found& found) {
      b_->local_store(values, local_, found.value);
      if (form_.finds_place()) b_->local_store(places, local_, found.place);
    };
    const auto load = [&](Word at) {
      return Found{b_->local_load(values, at),
                   form_.finds_place() ? b_->local_load(places, at) : Quad{}};
    };
    join_walkers(all, store, load, [&](const Found& a, const Found& b) { return joined(a, b); });
    b_->when(b_->both(alive_, b_->less(walker_, word(1))), [&] { leave(load(local_)); });
  }
  /// What all walkers of a result found, in the place of the first.
  void join_walkers(const auto& all, const auto& store, const auto& load, const auto& join) {
    store(all);
    b_->barrier();
    for (std::uint32_t apart = form_.walkers / 2; apart > 0; apart /= 2) {
      b_->when(b_->less(walker_, word(apart)), [&] {
        store(join(load(local_), load(add(local_, word(apart * step_of_walker_)))));
      });
      b_->barrier();
    }
  }
  std::size_t first_output() const { return form_.inputs.size() + form_.others.size(); }
  Word place_of_part() { return add(times(add(first_part_, number_), results_), result_); }
  void leave(const Found& found) {
    if (form_.leaves_parts) {
      const Word place = place_of_part();
      b_->write_one(places_[first_output()], place, of_key(found.value));
      if (form_.finds_place()) b_->write_one(places_[first_output() + 1], place, found.place);
      return;
    }
    const ProgramData& behind = *form_.behind;
    std::vector<Quad> inputs;
    if (behind.needed()[behind.inputs[0]]) {
      inputs.push_back(form_.finds_place() ? found.place : of_key(found.value));
    }
    finish(std::move(inputs));
  }
  /// The program behind, with what it needs of what was found.
  void finish(std::vector<Quad> inputs) {
    const std::size_t outputs = first_output();
    for (std::size_t i = 0; i < form_.others.size(); ++i) {
      if (form_.others[i].walk == FoldWalk::none) continue;
      const std::size_t at = form_.inputs.size() + i;
      inputs.push_back(b_->read(places_[at], b_->quad(bases_[at])));
    }
    const std::vector<Quad> results = b_->compute(1, inputs);
    for (std::size_t i = 0; i < form_.outputs.size(); ++i) {
      b_->write_one(places_[outputs + i], bases_[outputs + i], results[i]);
    }
  }

  // Moments -------------------------------------------------------------------------------------

  void find_moments() {
    MomentsWriter moments(*b_, dtype_);
    const std::uint32_t walkers = form_.walkers, unroll = form_.unroll;
    const Word first = add(begin_, step_ == 1 ? times(walker_, word(lanes)) : walker_);
    const Moments start = moments.none([&] {
      if (form_.takes_parts) return part(moments, first)[Moments::element];
      const Read one = read(first);
      return moments.element_of(b_->compute(0, one.inputs)[0], one.ours);
    }());
    std::array<Variable, Moments::numbers> kept;
    for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = b_->variable(dtype_, start[i]);
    const auto get_all = [&] {
      Moments all;
      for (std::size_t i = 0; i < kept.size(); ++i) all[i] = b_->get(kept[i]);
      return all;
    };
    b_->loop(first, end_, word(lanes * walkers * unroll), [&](Word k) {
      Moments all = get_all();
      if (form_.takes_parts) {
        for (std::uint32_t u = 0; u < unroll; ++u) {
          all = moments.joined(all, part(moments, at(k, u)));
        }
      } else {
        std::vector<Read> reads;
        std::vector<Quad> values, ours;
        for (std::uint32_t u = 0; u < unroll; ++u) reads.push_back(read(at(k, u)));
        for (const Read& one : reads) {
          values.push_back(b_->compute(0, one.inputs)[0]);
          ours.push_back(one.ours);
        }
        all = moments.with(all, values, ours);
      }
      for (std::size_t i = 0; i < kept.size(); ++i) b_->set(kept[i], all[i]);
    });
    Moments all = get_all();
    for (const std::uint32_t by : {2u, 1u}) all = moments.joined(all, moments.rotated(all, by));
    if (walkers == 1) {
      b_->when(alive_, [&] { leave(moments, all); });
      return;
    }
    std::array<Local, Moments::numbers> locals;
    for (Local& local : locals) local = b_->local_array(dtype_, form_.group);
    const auto store = [&](const Moments& found) {
      for (std::size_t i = 0; i < locals.size(); ++i) b_->local_store(locals[i], local_, found[i]);
    };
    const auto load = [&](Word place) {
      Moments found;
      for (std::size_t i = 0; i < locals.size(); ++i) found[i] = b_->local_load(locals[i], place);
      return found;
    };
    join_walkers(all, store, load,
                 [&](const Moments& a, const Moments& b) { return moments.joined(a, b); });
    b_->when(b_->both(alive_, b_->less(walker_, word(1))), [&] { leave(moments, load(local_)); });
  }
  /// Where the u-th read of a round is that starts at k.
  Word at(Word k, std::uint32_t u) { return u == 0 ? k : add(k, word(u * lanes * form_.walkers)); }
  /// What other launches left of four pieces.
  Moments part(MomentsWriter& moments, Word k) {
    const Numbers numbers = numbers_of(k);
    const Quad place = u32(ElementOp::mul_, places_of(0, form_.inputs[0], numbers.inside),
                           b_->quad(word(Moments::numbers)));
    Moments all;
    for (std::uint32_t i = 0; i < Moments::numbers; ++i) {
      all[i] = b_->read(places_[0], u32(ElementOp::add_, place, b_->quad(word(i))));
    }
    return moments.masked(all, numbers.ours);
  }
  void leave(MomentsWriter& moments, const Moments& found) {
    if (form_.leaves_parts) {
      const Word place = times(place_of_part(), word(Moments::numbers));
      for (std::uint32_t i = 0; i < Moments::numbers; ++i) {
        b_->write_one(places_[first_output()], add(place, word(i)), found[i]);
      }
      return;
    }
    const ProgramData& behind = *form_.behind;
    const std::vector<bool> needed = behind.needed();
    std::vector<Quad> inputs;
    if (needed[behind.inputs[0]]) inputs.push_back(moments.mean(found));
    if (needed[behind.inputs[1]]) inputs.push_back(found[Moments::squares]);
    finish(std::move(inputs));
  }

  // Scans ---------------------------------------------------------------------------------------

  void scan() {
    const std::uint32_t walkers = form_.walkers;
    const std::size_t output = form_.inputs.size() + form_.others.size();
    Quad start = identity_;
    if (form_.carried) {
      const Word place = add(times(number_, results_), mine_);
      start = b_->read(places_[output + form_.outputs.size()], b_->quad(place));
    }
    const Variable carry = b_->variable(dtype_, start);
    const Variable total = b_->variable(dtype_, identity_);
    const Variable ahead = b_->variable(dtype_, identity_);
    const Local totals = walkers > 1 ? b_->local_array(dtype_, form_.group) : Local{};
    b_->loop(begin_, end_, word(lanes * walkers), [&](Word base) {
      const Word k = add(base, times(walker_, word(lanes)));
      const Read elements = read(k);
      Quad sums = element(elements).value;
      sums = joined(b_->shifted(sums, 1, identity_), sums);
      sums = joined(b_->shifted(sums, 2, identity_), sums);
      b_->set(total, b_->spread(sums, lanes - 1));
      b_->set(ahead, identity_);
      Quad all = b_->get(total);
      if (walkers > 1) {
        b_->local_store(totals, local_, all);
        b_->barrier();
        const auto other = [&](std::uint32_t by) {
          return b_->local_load(totals, subtract(local_, word(by * step_of_walker_)));
        };
        for (std::uint32_t by = 1; by < walkers; by *= 2) {
          b_->when(b_->less(word(by - 1), walker_),
                   [&] { b_->set(total, joined(other(by), b_->get(total))); });
          b_->barrier();
          b_->local_store(totals, local_, b_->get(total));
          b_->barrier();
        }
        b_->when(b_->less(word(0), walker_), [&] { b_->set(ahead, other(1)); });
        const Word last = add(subtract(local_, times(walker_, word(step_of_walker_))),
                              word((walkers - 1) * step_of_walker_));
        all = b_->local_load(totals, last);
        b_->barrier();
      }
      const Quad before = joined(b_->get(carry), b_->get(ahead));
      const Quad own = form_.exclusive ? b_->shifted(sums, 1, identity_) : sums;
      std::vector<Quad> results{joined(before, own)};
      b_->set(carry, joined(b_->get(carry), all));
      b_->when(alive_, [&] {
        if (form_.behind) results = b_->compute(1, results);
        const FoldOperand& o = form_.outputs[0];
        if (o.walk == FoldWalk::quads) {
          b_->when(b_->less(k, end_), [&] {
            b_->write_quad(places_[output], place_of(output, k), results[0], elements.ours);
          });
        } else {
          b_->write(places_[output], places_of(output, o, elements.numbers), results[0],
                    elements.ours);
        }
      });
    });
  }

  const ProgramData& front_;
  const FoldForm& form_;
  const DType dtype_;
  DType joins_ = dtype_;  // what is joined: values, or keys of them
  bool is_keyed_ = false;
  const std::uint32_t step_;  // from one of the four of a read to the next
  std::string name_;
  std::vector<KernelBuilder::Operand> operands_;
  std::vector<std::size_t> places_;  // of each operand of the form among operands_
  Word length_{}, piece_{}, blocks_{}, first_part_{}, place_base_{};
  Word local_{}, block_{}, number_{}, walker_{}, result_{}, mine_{}, begin_{}, end_{};
  std::uint32_t step_of_walker_ = 1;
  Flag alive_{};
  Quad identity_{}, nowhere_{};
};

}  // namespace

KernelDescription fold_kernel(const ProgramData& front, const FoldForm& form,
                              KernelLanguage language) {
  return Writer(front, form, language).write();
}

}  // namespace tilewright::gpu
