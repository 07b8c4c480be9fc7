#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "core/all_requests.hpp"
#include "core/call.hpp"
#include "core/rehearsal.hpp"
#include "core/text.hpp"
#include "tilewright/backend.hpp"

// What a backend can do, by asking for it: a small call of each op is planned, and not run.
namespace tilewright {

namespace {

thread_local const RehearsingThreads* rehearsing_here = nullptr;

constexpr NotRecorded not_recorded{"ask before record(), or after it"};

/// Buffers for any of the calls below.
constexpr std::size_t most_operands = 5;
constexpr std::uint64_t operand_bytes = 4096;

/// There is no such op, or none of this kind.
struct UnknownName {
  std::string what;
};

/// What is asked for, and what to ask with.
struct Question {
  DType dtype;
  std::string_view kind;
  std::optional<DType> to;
  std::array<Buffer, most_operands> x;

  template <class Enum>
  Enum kind_or(Enum otherwise) const {
    if (kind.empty()) return otherwise;
    constexpr auto& names = EnumNames<Enum>::values;
    const auto found = std::ranges::find(names, kind);
    if (found == names.end()) unknown(EnumNames<Enum>::kind, names);
    return static_cast<Enum>(found - names.begin());
  }
  /// Of an op whose buffers have one dtype.
  void only(DType own) const {
    if (dtype != own) throw InvalidArgument(text("expected ", to_string(own)));
  }
  /// Of an op that takes complex numbers, of which the dtype is each part's.
  bool is_complex() const {
    constexpr std::array<std::string_view, 2> kinds{"real", "complex"};
    if (!kind.empty() && std::ranges::find(kinds, kind) == kinds.end()) unknown("kind", kinds);
    return kind == "complex";
  }
  [[noreturn]] void unknown(std::string_view what, std::span<const std::string_view> names) const {
    std::string all;
    for (const std::string_view name : names) all += text(all.empty() ? "" : ", ", name);
    throw UnknownName{text("kind is '", kind, "', expected a ", what, ": ", all)};
  }
};

constexpr Size n = 8;
constexpr Transpose as_is = Transpose::none;
constexpr Shape4 image{1, 2, 4, 4}, filter{2, 2, 1, 1};
constexpr Pair one{1, 1}, none{0, 0};

/// Of one op, or of none: its input as it is, in another dtype where one is asked for.
Program program_of(const Question& q) {
  Program program;
  Program::Value value;
  if (q.kind.empty()) {
    value = program.input(q.dtype);
  } else {
    const std::vector<std::string_view> names = Program::ops();
    if (std::ranges::find(names, q.kind) == names.end()) q.unknown("program op", names);
    std::vector<Program::Value> operands;
    for (std::size_t i = 0; i < Program::operands(q.kind); ++i) {
      operands.push_back(program.input(q.kind == "where" && i == 0 ? DType::boolean : q.dtype));
    }
    value = program.apply(q.kind, operands);
  }
  program.output(q.to ? program.cast(value, *q.to) : value);
  return program;
}

void ask_map(Backend& be, const Question& q) {
  const Program program = program_of(q);
  const std::size_t inputs = program.inputs().size();
  const std::array<MapOperand, most_operands> from{q.x[0], q.x[1], q.x[2]};
  const std::array<MapOperand, 1> to{q.x[4]};
  const std::array<Size, 1> shape{n};
  be.map(program, shape, std::span(from).first(inputs), {}, to);
}

void ask_map_reduce(Backend& be, const Question& q) {
  Program program;
  program.output(program.input(q.dtype));
  const std::array<MapOperand, 1> from{q.x[0]}, to{q.x[1]};
  const std::array<Size, 1> shape{n}, axes{0};
  be.map_reduce(program, q.kind_or(Reduction::sum), shape, axes, from, {}, to);
}

void ask_scan(Backend& be, const Question& q) {
  Program program;
  program.output(program.input(q.dtype));
  const std::array<MapOperand, 1> from{q.x[0]};
  const std::array<Size, 1> shape{n};
  be.scan(program, q.kind_or(ScanOp::sum), shape, 0, from, {}, q.x[1]);
}

std::array<IndexOperand, 1> index_of(const Question& q) {
  // Whatever lies there is an index of so many.
  return {{{{q.x[1]}, DType::uint8, 256, 1, 0}}};
}

/// How an op is asked for. A backend that lacks it, or a dtype of it, says so itself.
struct Op {
  std::string_view name;
  void (*ask)(Backend& be, const Question& q);
};
/// Those whose request does not say how.
constexpr Op common_ops[] = {
    {"gemm",
     [](Backend& be, const Question& q) {
       be.gemm(as_is, as_is, n, n, n, 1, q.x[0], n, q.x[1], n, 0, q.x[2], n, q.dtype, q.to);
     }},
    {"batched_gemm",
     [](Backend& be, const Question& q) {
       be.batched_gemm(as_is, as_is, n, n, n, 1, q.x[0], n, 0, q.x[1], n, 0, 0, q.x[2], n, n * n, 2,
                       q.dtype, q.to);
     }},
    {"gemm_f16",
     [](Backend& be, const Question& q) {
       q.only(DType::float16);
       be.gemm_f16(as_is, as_is, n, n, n, 1, q.x[0], n, q.x[1], n, 0, q.x[2], n);
     }},
    {"gemm_mixed_precision",
     [](Backend& be, const Question& q) {
       const Precision precision = q.kind_or(Precision::float16);
       q.only(DType::float32);
       be.gemm_mixed_precision(precision, as_is, as_is, n, n, n, 1, q.x[0], n, q.x[1], n, 0, q.x[2],
                               n);
     }},
    {"matmul_vec",
     [](Backend& be, const Question& q) { be.matmul_vec(q.x[0], n, n, q.x[1], q.x[2], q.dtype); }},
    {"conv2d_forward",
     [](Backend& be, const Question& q) {
       be.conv2d_forward(q.x[0], image, q.x[1], filter, q.x[2], image, one, none, one, 1,
                         std::nullopt, q.dtype);
     }},
    {"conv2d_backward_data",
     [](Backend& be, const Question& q) {
       be.conv2d_backward_data(q.x[0], image, q.x[1], filter, q.x[2], image, one, none, one, 1,
                               q.dtype);
     }},
    {"conv2d_backward_filter",
     [](Backend& be, const Question& q) {
       be.conv2d_backward_filter(q.x[0], image, q.x[1], image, q.x[2], filter, one, none, one, 1,
                                 q.dtype);
     }},
    {"attention",
     [](Backend& be, const Question& q) {
       be.attention(q.x[0], q.x[1], q.x[2], q.x[3], 1, 1, n, n, n, 1, false, 0, 1, q.dtype);
     }},
    {"attention_scores",
     [](Backend& be, const Question& q) {
       be.attention_scores(q.x[0], q.x[1], q.x[2], n, n, 1, 1, 1, q.dtype);
     }},
    {"weighted_sum",
     [](Backend& be, const Question& q) {
       be.weighted_sum(q.x[0], q.x[1], q.x[2], n, n, 1, 1, q.dtype);
     }},
    {"softmax",
     [](Backend& be, const Question& q) {
       be.softmax(q.x[0], q.x[1], std::array{n, n}, -1, q.dtype);
     }},
    {"rmsnorm",
     [](Backend& be, const Question& q) { be.rmsnorm(q.x[0], q.x[1], q.x[2], n, n, 1, q.dtype); }},
    {"layer_norm",
     [](Backend& be, const Question& q) {
       be.layer_norm(q.x[0], q.x[1], q.x[2], q.x[3], n, n, 1, q.dtype);
     }},
    {"silu", [](Backend& be, const Question& q) { be.silu(q.x[0], q.x[1], n, q.dtype); }},
    {"gelu", [](Backend& be, const Question& q) { be.gelu(q.x[0], q.x[1], n, q.dtype); }},
    {"gather",
     [](Backend& be, const Question& q) { be.gather(q.x[0], q.x[1], q.x[2], n, n, n, q.dtype); }},
    {"scatter",
     [](Backend& be, const Question& q) { be.scatter(q.x[0], q.x[1], q.x[2], n, n, n, q.dtype); }},
    {"unary",
     [](Backend& be, const Question& q) {
       be.unary(q.kind_or(UnaryOp::relu), q.x[0], q.x[1], n, q.dtype);
     }},
    {"binary",
     [](Backend& be, const Question& q) {
       be.binary(q.kind_or(BinaryOp::add), q.x[0], q.x[1], q.x[2], n, q.dtype);
     }},
    {"binary_scalar",  // a number is kept on the device: one of its elements stands for it here
     [](Backend& be, const Question& q) {
       be.binary_broadcast(q.kind_or(BinaryOp::add), q.x[0], std::array{Size{1}}, q.x[1],
                           std::array{Size{0}}, q.x[2], std::array{n}, q.dtype);
     }},
    {"binary_broadcast",
     [](Backend& be, const Question& q) {
       be.binary_broadcast(q.kind_or(BinaryOp::add), q.x[0], std::array{n, Size{1}}, q.x[1],
                           std::array{Size{0}, Size{1}}, q.x[2], std::array{n, n}, q.dtype);
     }},
    {"reduce",
     [](Backend& be, const Question& q) {
       be.reduce(q.kind_or(ReduceOp::sum), q.x[0], q.x[1], std::array{n, n}, -1, q.dtype);
     }},
    {"cast",
     [](Backend& be, const Question& q) {
       be.cast(q.x[0], q.dtype, q.x[1], q.to.value_or(DType::float32), n);
     }},
    {"sort", [](Backend& be, const Question& q) { be.sort(q.x[0], q.x[1], n, n, false, q.dtype); }},
    {"argsort",
     [](Backend& be, const Question& q) {
       be.argsort(q.x[0], q.x[1], n, n, false, q.dtype, q.to.value_or(DType::int64));
     }},
    {"topk",
     [](Backend& be, const Question& q) {
       be.topk(q.x[0], q.x[1], q.x[2], n, n, 2, true, q.dtype, q.to.value_or(DType::int64));
     }},
    {"gather_elements",
     [](Backend& be, const Question& q) {
       be.gather_elements({q.x[0]}, index_of(q), {q.x[2]}, std::array{n}, q.dtype);
     }},
    {"scatter_elements",
     [](Backend& be, const Question& q) {
       be.scatter_elements({q.x[0]}, index_of(q), {q.x[2]}, std::array{n}, q.dtype);
     }},
    {"mask_counts",
     [](Backend& be, const Question& q) {
       q.only(DType::boolean);
       be.mask_counts(q.x[0], q.x[1], n);
     }},
    {"compact",
     [](Backend& be, const Question& q) {
       be.compact(q.x[0], q.x[1], q.x[2], q.x[3], n, n, q.dtype);
     }},
    {"nonzero",
     [](Backend& be, const Question& q) {
       q.only(DType::boolean);
       be.nonzero(q.x[0], q.x[1], q.x[2], std::array{n}, n, q.to.value_or(DType::int64));
     }},
    {"search_sorted",
     [](Backend& be, const Question& q) {
       be.search_sorted(q.x[0], q.x[1], q.x[2], n, n, false, q.dtype, q.to.value_or(DType::int64));
     }},
    {"cholesky",
     [](Backend& be, const Question& q) {
       be.cholesky(q.x[0], q.x[1], q.x[2], n, 1, false, q.is_complex(), q.dtype);
     }},
    {"lu",
     [](Backend& be, const Question& q) {
       be.lu(q.x[0], q.x[1], q.x[2], q.x[3], n, 1, q.is_complex(), q.dtype);
     }},
    {"triangular_solve",
     [](Backend& be, const Question& q) {
       be.triangular_solve(q.x[0], q.x[1], q.x[2], n, n, 1, false, as_is, false, false,
                           q.is_complex(), q.dtype);
     }},
    {"fft",
     [](Backend& be, const Question& q) {
       q.is_complex();  // whatever its kind, it takes complex numbers
       be.fft(q.x[0], q.x[1], q.x[2], 1, n, 1, 1, false, 1, std::nullopt, q.dtype);
     }},
    {"fft_real",
     [](Backend& be, const Question& q) {
       be.fft_real(q.x[0], q.x[1], q.x[2], 1, n, false, 1, q.dtype);
     }},
    {"qr",
     [](Backend& be, const Question& q) {
       be.qr(q.x[0], q.x[1], q.x[2], n, n, 1, false, q.is_complex(), q.dtype);
     }},
    {"eigh",
     [](Backend& be, const Question& q) {
       be.eigh(q.x[0], q.x[1], q.x[2], q.x[3], n, 1, false, true, q.is_complex(), q.dtype);
     }},
    {"svd",
     [](Backend& be, const Question& q) {
       be.svd(q.x[0], q.x[1], q.x[2], q.x[3], q.x[4], n, n, 1, false, true, q.is_complex(),
              q.dtype);
     }},
    {"eig",
     [](Backend& be, const Question& q) {
       be.eig(q.x[0], q.x[1], q.x[2], q.x[3], n, 1, true, q.is_complex(), q.dtype);
     }},
    {"map", ask_map},
    {"map_reduce", ask_map_reduce},
    {"scan", ask_scan},
};

/// A request with ask(backend, question), the small call of its op.
template <class Request>
concept says_how = requires(Backend& be, const Question& q) { Request::ask(be, q); };

template <class Request>
void add(std::vector<Op>& all, std::string_view name) {
  if constexpr (says_how<Request>) {
    all.push_back({name, [](Backend& be, const Question& q) { Request::ask(be, q); }});
  }
}

const std::vector<Op>& ops() {
  static const std::vector<Op> all = [] {
    std::vector<Op> made(std::begin(common_ops), std::end(common_ops));
#define TILEWRIGHT_ASK(name, Request) add<Request>(made, #name);
    TILEWRIGHT_OPS(TILEWRIGHT_ASK)
#undef TILEWRIGHT_ASK
    return made;
  }();
  return all;
}

/// Operands of a rehearsal behind handles that no count knows of.
class Handles {
 public:
  Handles(BackendState& state, std::string_view op, Rehearsal& rehearsal) : state_(state) {
    for (Buffer& handle : all_) {
      AllocationRef operand = rehearsal.operand(operand_bytes);
      std::lock_guard lock(state_.mutex);
      handle = state_.buffers.insert(op, std::move(operand));
    }
  }
  ~Handles() {
    for (const Buffer handle : all_) {
      BufferTable::Removed removed;  // goes without the lock
      std::lock_guard lock(state_.mutex);
      removed = state_.buffers.remove(handle);
    }
  }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
  const std::array<Buffer, most_operands>& all() const { return all_; }

 private:
  BackendState& state_;
  std::array<Buffer, most_operands> all_{};
};

bool runs(Backend& be, const Op& op, const Question& question) {
  try {
    op.ask(be, question);
    return true;
  } catch (const Unsupported&) {
    return false;
  } catch (const IndexOutOfRange&) {
    return true;  // it runs, by whatever the operands hold
  } catch (const InvalidArgument&) {
    return false;  // the dtype is none of the op's
  } catch (const OutOfMemory&) {
    return true;  // planned, and short of room for now
  }
}

}  // namespace

void RehearsingThreads::enter() noexcept {
  count_.fetch_add(1, std::memory_order_relaxed);
  rehearsing_here = this;
}
void RehearsingThreads::leave() noexcept {
  rehearsing_here = nullptr;
  count_.fetch_sub(1, std::memory_order_relaxed);
}
bool RehearsingThreads::is_here() const noexcept { return rehearsing_here == this; }

bool Backend::supports(std::string_view op, DType dtype, std::string_view kind,
                       std::optional<DType> to) {
  const auto found = std::ranges::find(ops(), op, &Op::name);
  std::unique_ptr<Rehearsal> rehearsal;
  {
    Call call(*state_, "supports", not_recorded);
    if (found == ops().end()) {
      std::string names;
      for (const Op& known : ops()) names += text(names.empty() ? "" : ", ", known.name);
      call.invalid(text("op is '", op, "', expected one of ", names));
    }
    call.known("dtype", dtype);
    if (to) call.known("to", *to);
    call.checked();
    rehearsal = do_rehearse();
  }
  const Handles operands(*state_, "supports", *rehearsal);
  try {
    return runs(*this, *found, {dtype, kind, to, operands.all()});
  } catch (const UnknownName& name) {
    throw InvalidArgument(text("supports: ", name.what));
  }
}

std::vector<std::string_view> Backend::available_ops() {
  std::unique_ptr<Rehearsal> rehearsal;
  {
    Call call(*state_, "available_ops", not_recorded);
    call.checked();
    rehearsal = do_rehearse();
  }
  const Handles operands(*state_, "available_ops", *rehearsal);
  std::vector<std::string_view> names;
  for (const Op& op : ops()) {
    bool some = false;
    for (std::size_t i = 0; i < EnumNames<DType>::values.size() && !some; ++i) {
      some = runs(*this, op, {static_cast<DType>(i), {}, std::nullopt, operands.all()});
    }
    if (some) names.push_back(op.name);
  }
  return names;
}

std::unique_ptr<Rehearsal> Backend::do_rehearse() {
  class OnItsMemory final : public Rehearsal {
   public:
    explicit OnItsMemory(Backend& backend) : backend_(backend) {}
    AllocationRef operand(std::uint64_t bytes) override { return backend_.do_alloc(bytes); }

   private:
    Backend& backend_;
  };
  return std::make_unique<OnItsMemory>(*this);
}

}  // namespace tilewright
