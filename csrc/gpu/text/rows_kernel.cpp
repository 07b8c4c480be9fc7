#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "core/text.hpp"
#include "gpu/text/program_form.hpp"
#include "gpu/text/rows_form.hpp"
#include "gpu/text/walk_writer.hpp"

// The kernel of map_rows, in whatever language its builder writes.
namespace tilewright::gpu {

namespace {

/// Values that each walker joins at the end.
constexpr std::uint32_t last_values = 16;

class Writer : WalkWriter {
 public:
  Writer(const RowsForm& form, KernelLanguage language)
      : form_(form),
        dtype_(form.folds[0]->output_dtype()),
        inputs_(form.inputs.size()),
        has_others_(!form.kept_reads ||
                    (form.walkers == form.group && language == KernelLanguage::wgsl)),
        at_once_(!form.kept_reads         ? form.unroll
                 : form.folds.size() <= 2 ? 2
                                          : 1),
        programs_(form.programs()) {
    const auto list = [&](const std::vector<FoldOperand>& operands, bool written) {
      for (const FoldOperand& o : operands) {
        places_.push_back(operands_.size());
        if (o.walk == FoldWalk::none) continue;
        operands_.push_back({o.dtype, o.binding, o.walk == FoldWalk::quads, o.writable, written});
      }
    };
    list(form.inputs, false);
    list(form.outputs, true);
    list(form.end_outputs, true);
    name_ = "map_rows";
    for (const Reduction op : form.ops) name_ += text("_", to_string(op));
    const KernelBuilder::Layout layout{
        name_, form.group, rows_params_words(form), form.params_in_buffer, dtype_, operands_};
    b_ = language == KernelLanguage::spirv ? spirv_builder(layout) : wgsl_builder(layout);
  }

  KernelDescription write() {
    begin();
    if (form_.kept_reads) {
      // All before the last lie within the row.
      for (std::uint32_t u = 0; u < form_.unroll; ++u) {
        reads_.push_back(read(quad_of(u), u + 1 < form_.unroll));
      }
    }
    for (std::size_t fold = 0; fold < form_.folds.size(); fold = found_.size()) {
      find(fold, end_of_pass(fold));
    }
    if (form_.elements) write_elements();
    if (form_.ends) write_ends();
    return b_->finish();
  }

 private:
  void begin() {
    results_ = b_->parameter();
    length_ = b_->parameter();
    take_shape(form_.kept, form_.reduced);
    take_operands(form_.inputs, true);
    take_operands(form_.outputs, true);
    take_operands(form_.end_outputs, false);
    for (std::uint32_t i = 0; i < programs_.size(); ++i) {
      b_->program(i, *programs_[i]);
      needed_.push_back(programs_[i]->needed());
    }
    const std::uint32_t walkers = form_.walkers, side_by_side = form_.group / walkers;
    local_ = b_->local();
    const Word by = word(form_.by_rows ? walkers : side_by_side);
    const Word slow = divide(local_, by), quick = remainder(local_, by);
    walker_ = form_.by_rows ? quick : slow;
    step_of_walker_ = form_.by_rows ? 1 : side_by_side;
    first_of_row_ = subtract(local_, times(walker_, word(step_of_walker_)));
    const Word row = add(times(b_->group(), word(side_by_side)), form_.by_rows ? slow : quick);
    // Work-items without a row do as the last one does, and write nothing.
    const Word mine = least(row, subtract(results_, word(1)));
    alive_ = b_->less(row, results_);
    take_row(mine);
    for (const auto* operands : {&form_.inputs, &form_.outputs, &form_.end_outputs}) {
      for (const FoldOperand& o : *operands) add_base(o, mine);
    }
    step_of_lane_ = form_.apart ? u32(ElementOp::mul_, four_, b_->quad(word(walkers))) : four_;
    first_ = form_.apart ? walker_ : times(walker_, word(lanes));
    for (std::size_t i = 0; i < inputs_; ++i) {
      const bool is_of_row = form_.inputs[i].walk == FoldWalk::row;
      of_row_.push_back(is_of_row ? b_->read(places_[i], b_->quad(bases_[i])) : Quad{});
    }
  }
  Word quad_of(std::uint32_t u) {
    return u == 0 ? first_ : add(first_, word(u * lanes * form_.walkers));
  }

  /// What is read of four elements.
  struct Read {
    Word first{};
    bool whole = false;  // all of them are the row's
    Quad numbers{}, ours{};
    std::vector<Quad> inputs;  // of those that have bindings
  };
  Read read(Word k, bool is_whole) {
    Read all{};
    all.first = k;
    all.whole = is_whole;
    all.numbers = u32(ElementOp::add_, b_->quad(k), step_of_lane_);
    Quad inside = all.numbers;
    Word whole = k;
    if (is_whole) {
      all.ours = b_->constant(DType::boolean, 1);
    } else {
      all.ours = below(all.numbers, b_->quad(length_));
      const Word last = subtract(length_, word(1));
      inside = u32(ElementOp::min_, all.numbers, b_->quad(last));
      whole = least(k, times(divide(last, word(lanes)), word(lanes)));
    }
    for (std::size_t i = 0; i < inputs_; ++i) {
      const FoldOperand& o = form_.inputs[i];
      Quad value{};
      if (o.walk == FoldWalk::row) {
        value = of_row_[i];
      } else if (o.walk == FoldWalk::quads) {
        value = b_->read_quad(places_[i], place_of(i, whole));
      } else if (o.walk == FoldWalk::places && !form_.apart) {
        // Beside operands by quads: one place for all four.
        value = b_->read(places_[i], b_->quad(place_of(i, whole)));
      } else if (o.walk == FoldWalk::places) {
        value = b_->read(places_[i], places_of(i, o, inside));
      }
      all.inputs.push_back(value);
    }
    return all;
  }
  /// What a program makes of inputs, if it has any, of what was found, and of what is the same for
  /// the row.
  std::vector<Quad> computed(std::size_t program, const Read* read,
                             std::span<const Quad> of_row = {}) {
    std::vector<Quad> given;
    const ProgramData& data = *programs_[program];
    const std::size_t inputs = read != nullptr ? inputs_ : 0;
    const std::size_t folds = data.inputs.size() - inputs - of_row.size();
    for (std::size_t i = 0; i < data.inputs.size(); ++i) {
      if (!needed_[program][data.inputs[i]]) continue;
      given.push_back(i < inputs           ? read->inputs[i]
                      : i < inputs + folds ? found_[i - inputs]
                                           : of_row[i - inputs - folds]);
    }
    return b_->compute(static_cast<std::uint32_t>(program), given);
  }
  /// What is the same for the row, of a fold or of elements.
  std::vector<Quad> same_for_row(std::size_t step) {
    if (!form_.before[step]) return {};
    Read row{};
    row.inputs = of_row_;
    return computed(before_of(step), &row);
  }
  /// Where that is among the programs.
  std::size_t before_of(std::size_t step) const {
    std::size_t program = form_.folds.size() + (form_.elements ? 1 : 0) + (form_.ends ? 1 : 0);
    for (std::size_t i = 0; i < step; ++i) program += form_.before[i] ? 1 : 0;
    return program;
  }
  /// Folds from one on, behind the last of those that need nothing of each other.
  std::size_t end_of_pass(std::size_t first) const {
    std::size_t end = first + 1;
    const auto reads_one = [&](std::size_t program, std::size_t fold) {
      for (std::size_t before = first; before < fold; ++before) {
        if (needed_[program][programs_[program]->inputs[inputs_ + before]]) return true;
      }
      return false;
    };
    const auto needs = [&](std::size_t fold) {
      return reads_one(fold, fold) || (form_.before[fold] && reads_one(before_of(fold), fold));
    };
    while (end < form_.folds.size() && !needs(end)) ++end;
    return end;
  }
  /// Whether a fold joins keys of its values.
  bool by_keys(std::size_t fold) const {
    const Reduction op = form_.ops[fold];
    return (op == Reduction::max || op == Reduction::min) && b_->has_keys(dtype_);
  }
  bool of_least(std::size_t fold) const { return form_.ops[fold] == Reduction::min; }
  DType joins(std::size_t fold) const { return by_keys(fold) ? DType::uint32 : dtype_; }
  Quad identity(std::size_t fold) {
    if (by_keys(fold)) return b_->quad(word(0));
    return b_->constant(dtype_, identity_bits(form_.ops[fold], dtype_));
  }
  Quad join(std::size_t fold, Quad a, Quad b) {
    if (by_keys(fold)) return u32(ElementOp::max_, a, b);
    return joined(form_.ops[fold], dtype_, a, b);
  }
  /// What the folds of one pass find.
  void find(std::size_t first, std::size_t end) {
    std::vector<std::vector<Quad>> of_row;
    std::vector<Quad> otherwise;
    for (std::size_t fold = first; fold < end; ++fold) {
      of_row.push_back(same_for_row(fold));
      otherwise.push_back(identity(fold));
    }
    const auto element = [&](std::size_t fold, const Read& read) {
      Quad value = computed(fold, &read, of_row[fold - first])[0];
      if (by_keys(fold)) value = b_->key_of(value, of_least(fold));
      if (read.whole) return value;
      return choose(joins(fold), read.ours, value, otherwise[fold - first]);
    };
    std::vector<Quad> found = otherwise;
    for (const Read& read : reads_) {
      for (std::size_t fold = first; fold < end; ++fold) {
        Quad& all = found[fold - first];
        const Quad one = element(fold, read);
        all = &read == reads_.data() ? one : join(fold, all, one);
      }
    }
    if (has_others_) {
      const std::uint32_t each = at_once_;
      std::vector<Variable> sums;
      for (std::size_t fold = first; fold < end; ++fold) {
        for (std::uint32_t u = 0; u < each; ++u) {
          sums.push_back(b_->variable(joins(fold), (u == 0 ? found : otherwise)[fold - first]));
        }
      }
      for_others([&](const std::vector<Read>& reads) {
        for (std::size_t i = 0; i < (end - first) * reads.size(); ++i) {
          const std::size_t fold = i / reads.size(), u = i % reads.size();
          const Variable sum = sums[fold * each + u];
          b_->set(sum, join(first + fold, b_->get(sum), element(first + fold, reads[u])));
        }
      });
      for (std::size_t fold = first; fold < end; ++fold) {
        const std::size_t at = (fold - first) * each;
        Quad all = b_->get(sums[at]);
        for (std::uint32_t u = 1; u < each; ++u) all = join(fold, all, b_->get(sums[at + u]));
        found[fold - first] = all;
      }
    }
    for (std::size_t fold = first; fold < end; ++fold) {
      Quad all = found[fold - first];
      all = join(fold, all, b_->rotated(all, 2));
      all = join(fold, all, b_->rotated(all, 1));
      if (form_.walkers > 1) all = joined_by_walkers(fold, all);
      found_.push_back(by_keys(fold) ? b_->of_key(all, of_least(fold)) : all);
    }
  }
  /// Those that are not kept: first those of which all lie within the row, then one by one.
  template <class Body>
  void for_others(const Body& body) {
    const std::uint32_t one = lanes * form_.walkers, step = one * at_once_;
    const Word begin = word(form_.kept_reads ? one * form_.unroll : 0);
    const Word others = subtract(select_more(length_, begin), begin);
    const Word whole = add(begin, times(divide(others, word(step)), word(step)));
    b_->loop(add(begin, first_), whole, word(step), [&](Word k) {
      std::vector<Read> reads;
      for (std::uint32_t u = 0; u < at_once_; ++u) {
        reads.push_back(read(u == 0 ? k : add(k, word(u * one)), true));
      }
      body(reads);
    });
    b_->loop(add(whole, first_), length_, word(one),
             [&](Word k) { body(std::vector<Read>{read(k, false)}); });
  }
  Word select_more(Word a, Word b) { return b_->select(b_->less(a, b), b, a); }
  /// Of what each walker of a row has. Two arrays take turns: who writes one has passed a barrier
  /// behind all that read it.
  Quad joined_by_walkers(std::size_t fold, Quad own) {
    std::optional<Local>& array = memory_[by_keys(fold) ? 1 : 0][fold % 2];
    if (!array) array = b_->local_array(joins(fold), form_.group);
    const Local memory = *array;
    b_->local_store(memory, local_, own);
    b_->barrier();
    const auto join_all = [&](Word first, std::uint32_t count, std::uint32_t step) {
      std::vector<Quad> values;
      for (std::uint32_t i = 0; i < count; ++i) {
        values.push_back(
            b_->local_load(memory, i == 0 ? first : add(first, word(i * step * step_of_walker_))));
      }
      while (values.size() > 1) {
        std::vector<Quad> halves;
        for (std::size_t i = 0; i + 1 < values.size(); i += 2) {
          halves.push_back(join(fold, values[i], values[i + 1]));
        }
        if (values.size() % 2 != 0) halves.push_back(values.back());
        values = std::move(halves);
      }
      return values[0];
    };
    const std::uint32_t walkers = form_.walkers;
    if (walkers > last_values) {
      b_->when(b_->less(walker_, word(last_values)), [&] {
        b_->local_store(memory, local_, join_all(local_, walkers / last_values, last_values));
      });
      b_->barrier();
    }
    return join_all(first_of_row_, std::min(walkers, last_values), 1);
  }

  void write_elements() {
    const std::size_t program = form_.folds.size();
    const std::vector<Quad> of_row = same_for_row(program);
    const auto write = [&](const Read& read) {
      const std::vector<Quad> results = computed(program, &read, of_row);
      for (std::size_t i = 0; i < form_.outputs.size(); ++i) {
        const std::size_t at = inputs_ + i;
        const FoldOperand& o = form_.outputs[i];
        if (o.walk == FoldWalk::quads && read.whole) {
          b_->write_quad(places_[at], place_of(at, read.first), results[i], read.ours);
        } else if (o.walk == FoldWalk::quads) {
          b_->when(b_->less(read.first, length_), [&] {
            b_->write_quad(places_[at], place_of(at, read.first), results[i], read.ours);
          });
        } else {
          b_->write(places_[at], places_of(at, o, read.numbers), results[i], read.ours);
        }
      }
    };
    b_->when(alive_, [&] {
      for (const Read& read : reads_) write(read);
      if (!has_others_) return;
      for_others([&](const std::vector<Read>& reads) {
        for (const Read& read : reads) write(read);
      });
    });
  }
  void write_ends() {
    b_->when(b_->both(alive_, b_->less(walker_, word(1))), [&] {
      const std::vector<Quad> results =
          computed(form_.folds.size() + (form_.elements ? 1 : 0), nullptr);
      const std::size_t first = inputs_ + form_.outputs.size();
      for (std::size_t i = 0; i < form_.end_outputs.size(); ++i) {
        b_->write_one(places_[first + i], bases_[first + i], results[i]);
      }
    });
  }

  const RowsForm& form_;
  const DType dtype_;
  const std::size_t inputs_;
  const bool has_others_;
  const std::uint32_t at_once_;  // of others
  const std::vector<ProgramRef> programs_;
  std::string name_;
  std::vector<KernelBuilder::Operand> operands_;
  std::vector<std::size_t> places_;  // of each operand of the form among operands_
  std::vector<std::vector<bool>> needed_;
  Word length_{}, local_{}, walker_{}, first_of_row_{}, first_{};
  std::uint32_t step_of_walker_ = 1;
  Flag alive_{};
  Quad step_of_lane_{};
  std::vector<Quad> of_row_, found_;
  std::vector<Read> reads_;
  std::array<std::array<std::optional<Local>, 2>, 2> memory_;  // of values, and of keys
};

}  // namespace

std::vector<ProgramRef> RowsForm::programs() const {
  std::vector<ProgramRef> all = folds;
  if (elements) all.push_back(elements);
  if (ends) all.push_back(ends);
  for (const ProgramRef& one : before) {
    if (one) all.push_back(one);
  }
  return all;
}

std::uint32_t rows_params_words(const RowsForm& form) {
  const std::uint32_t rank = form.kept + form.reduced;
  std::uint32_t words = 2 + rank;
  const auto count = [&](const std::vector<FoldOperand>& operands, std::uint32_t dims) {
    for (const FoldOperand& o : operands) {
      if (o.walk != FoldWalk::none) words += 1 + (o.walk == FoldWalk::row ? form.kept : dims);
    }
  };
  count(form.inputs, rank);
  count(form.outputs, rank);
  count(form.end_outputs, form.kept);
  for (const ProgramRef& program : form.programs()) {
    for (const std::uint32_t number : program->numbers) {
      words += number_words(program->nodes[number].dtype);
    }
  }
  return words;
}

bool RowsForm::operator==(const RowsForm& other) const {
  const auto key = [](const RowsForm& f) {
    return std::tie(f.ops, f.by_rows, f.apart, f.kept_reads, f.params_in_buffer, f.kept, f.reduced,
                    f.walkers, f.unroll, f.group, f.inputs, f.outputs, f.end_outputs);
  };
  if (key(*this) != key(other) || !elements != !other.elements || !ends != !other.ends ||
      !std::ranges::equal(
          before, other.before, {}, [](const ProgramRef& one) { return !one; },
          [](const ProgramRef& one) { return !one; })) {
    return false;
  }
  const std::vector<ProgramRef> own = programs(), others = other.programs();
  return std::ranges::equal(
      own, others, [](const ProgramRef& a, const ProgramRef& b) { return a == b || *a == *b; });
}

std::uint64_t RowsForm::hash() const {
  std::uint64_t all = 0;
  const auto mix = [&](std::uint64_t with) {
    all = (all ^ with) * 0x9e3779b97f4a7c15u;
    all ^= all >> 29;
  };
  for (const ProgramRef& program : programs()) mix(program->hash);
  for (const Reduction op : ops) mix(static_cast<std::uint64_t>(op));
  mix(std::uint64_t{apart} | std::uint64_t{kept_reads} << 1 | std::uint64_t{params_in_buffer} << 2 |
      std::uint64_t{elements != nullptr} << 3 | std::uint64_t{by_rows} << 4 |
      std::uint64_t{kept} << 8 | std::uint64_t{reduced} << 16 | std::uint64_t{walkers} << 24 |
      std::uint64_t{unroll} << 40);
  mix(group);
  for (const auto* list : {&inputs, &outputs, &end_outputs}) {
    for (const FoldOperand& o : *list) mix(o.bits());
    mix(list->size());
  }
  return all;
}

std::uint32_t RowsForm::bindings() const {
  std::uint32_t count = 0;
  for (const auto* list : {&inputs, &outputs, &end_outputs}) {
    for (const FoldOperand& o : *list) {
      if (o.walk != FoldWalk::none) count = std::max<std::uint32_t>(count, o.binding + 1u);
    }
  }
  return count;
}

KernelDescription rows_kernel(const RowsForm& form, KernelLanguage language) {
  return Writer(form, language).write();
}

}  // namespace tilewright::gpu
