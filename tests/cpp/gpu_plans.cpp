// Plans of ops: kept by what their requests ask, within a bound, and never beside what tools
// choose.

#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "asked_device.hpp"
#include "core/choices.hpp"
#include "gpu/plan_cache.hpp"

namespace tilewright::gpu {
namespace {

struct Products {
  explicit Products(Config config = {}) : opened(std::move(config)) {
    for (Buffer* buffer : {&a, &b, &c}) *buffer = opened.backend.alloc(4 * 700 * 700);
  }
  /// The grids of the launches of one product.
  std::vector<std::array<std::uint32_t, 3>> multiply(Size m, Size n, Size k, Size pad = 0) {
    opened.asked.grids.clear();
    opened.backend.gemm(Transpose::none, Transpose::none, m, n, k, 1, a, k + pad, b, n, 0, c, n);
    return opened.asked.grids;
  }
  const GpuBackend::Plans& plans() const { return opened.backend.plans(); }

  Opened opened;
  Buffer a = Buffer::null, b = Buffer::null, c = Buffer::null;
};

TEST_CASE("gpu plans: a product that is asked for again is not planned again") {
  Products products;
  const auto first = products.multiply(256, 256, 512);
  CHECK(products.plans().made() == 1);
  for (int i = 0; i < 5; ++i) CHECK(products.multiply(256, 256, 512) == first);
  CHECK(products.plans().made() == 1);
  products.multiply(256, 256, 508);
  products.multiply(256, 256, 508, 4);
  products.multiply(3, 256, 512);
  CHECK(products.plans().made() == 4);
}

TEST_CASE("gpu plans: as many are kept as there is room for") {
  Products products;
  for (Size k = 1; k <= 600; ++k) products.multiply(8, 8, k);
  CHECK(products.plans().made() == 600);
  CHECK(products.plans().kept() <= GpuBackend::Plans::capacity);
  CHECK(products.plans().kept() > GpuBackend::Plans::capacity / 2);
}

TEST_CASE("gpu plans: what tools force is taken, and theirs are not kept") {
  Products products;
  const auto usual = products.multiply(512, 512, 256);
  const std::shared_ptr<Choices> choices = choices_of(products.opened.backend);
  choices->force("gemm", "32x32");
  CHECK(products.multiply(512, 512, 256).at(0)[0] == 16 * 16);
  choices->force("gemm", "128x128");
  CHECK(products.multiply(512, 512, 256).at(0)[0] == 4 * 4);
  CHECK(products.plans().made() == 1);
  choices->force("gemm", "");
  CHECK(products.multiply(512, 512, 256) == usual);
  choices->watch(true);
  products.multiply(512, 512, 256);
  CHECK(choices->take_made().size() >= 1);
}

TEST_CASE("gpu plans: scratch that finds no room any more is done without") {
  // k is cut where there is room for the pieces.
  Products roomy;
  const auto with_room = roomy.multiply(64, 64, 600);
  Products tight({.memory_limit = 3 * 4 * 700 * 700 + 1000});
  const auto without = tight.multiply(64, 64, 600);
  CHECK(with_room != without);
  const Buffer filler = roomy.opened.backend.alloc(1 << 20);
  CHECK(roomy.multiply(64, 64, 600) == with_room);
  roomy.opened.backend.free(filler);
  CHECK(roomy.plans().made() == 1);
  // It goes another way once there is more room.
  CHECK(tight.plans().made() == 0);
}

TEST_CASE("gpu plans: a kept plan that finds no room for its scratch is not taken") {
  Products products({.memory_limit = 4 * 4 * 700 * 700});
  const auto with_room = products.multiply(64, 64, 600);
  const Buffer filler = products.opened.backend.alloc(4 * 700 * 700);
  const auto without = products.multiply(64, 64, 600);
  CHECK(with_room != without);
  products.opened.backend.free(filler);
  CHECK(products.multiply(64, 64, 600) == with_room);
}

TEST_CASE("gpu plans: the same plan serves other buffers, but not ones that lie otherwise") {
  Products products;
  Backend& be = products.opened.backend;
  const auto& lengths = products.opened.asked.output_lengths;
  const auto reduce = [&](Buffer from, Buffer to) {
    const std::array<Size, 2> shape{3, 1 << 16};
    be.reduce(ReduceOp::sum, from, to, shape, 1);
    return lengths.back();
  };
  const std::uint64_t large = reduce(products.a, products.b);
  CHECK(products.plans().made() == 1);
  CHECK(reduce(products.b, products.c) == large);
  // What is bound of a smaller buffer ends with it.
  const Buffer small = be.alloc(1024);
  CHECK(reduce(products.a, small) <= 1024);
  CHECK(products.plans().made() == 1);
  const Buffer end = be.view(products.a, 4 * (3 << 16) + 1024 - 4 * (3 << 16) % 1024, 12);
  CHECK(reduce(products.a, end) < large);
  CHECK(products.plans().made() == 2);
}

TEST_CASE("gpu plans: moves by indices that lie alike are one plan") {
  Products products;
  Backend& be = products.opened.backend;
  const std::array<Size, 1> shape{100};
  const auto take = [&](const MapOperand& x, Buffer index, const MapOperand& to, Size size = 500,
                        std::string_view name = "take") {
    const std::array indices{IndexOperand{{index}, DType::int32, size, 1}};
    be.gather_elements(x, indices, to, shape, DType::float32, name);
    return products.plans().made();
  };
  // The first one also brings the words for indices outside to the device.
  CHECK(take({products.a}, products.b, {products.c}) == 0);
  const auto params = products.opened.asked.last_params;
  CHECK(take({products.b}, products.c, {products.a}) == 1);
  CHECK(products.opened.asked.last_params == params);
  // As far from where bindings may start.
  CHECK(take({products.a, {}, 1024}, products.b, {products.c, {}, 512}) == 1);
  CHECK(take({products.a, {}, 1}, products.b, {products.c}) == 2);
  CHECK(take({products.a}, products.b, {products.c}, 400) == 3);
  CHECK(take({products.a}, products.b, {products.c}, 500, "other") == 4);
  CHECK(take({products.a}, products.b, {products.a, {}, 4096}) == 5);
  CHECK(take({products.a}, products.b, {products.c}) == 5);
  CHECK(products.opened.asked.grids.size() == 8);
  const std::array indices{IndexOperand{{products.b}, DType::int32, 500, 1}};
  be.scatter_elements({products.a}, indices, {products.c}, shape, DType::float32, "take");
  CHECK(products.plans().made() == 6);
}

TEST_CASE("gpu plans: numbers of a program change from call to call") {
  Products products;
  Program program;
  program.output(
      program.apply("mul", {program.input(DType::float32), program.number(DType::float32)}));
  const std::array<Size, 1> shape{1000};
  const std::array<MapOperand, 1> in{MapOperand{products.a}}, out{MapOperand{products.b}};
  for (const double value : {2.0, 3.0, 2.0}) {
    const std::array<Number, 1> numbers{Number(value)};
    products.opened.backend.map(program, shape, in, numbers, out);
    const auto& params = products.opened.asked.last_params;
    float last = 0;
    std::memcpy(&last, params.data() + params.size() - 4, 4);
    CHECK(last == static_cast<float>(value));
  }
  CHECK(products.plans().made() == 1);
  Program other;
  other.output(other.apply("add", {other.input(DType::float32), other.number(DType::float32)}));
  const std::array<Number, 1> numbers{Number(2.0)};
  products.opened.backend.map(other, shape, in, numbers, out);
  CHECK(products.plans().made() == 2);
}

TEST_CASE("gpu plans: attention to more keys at each call is not kept, the same again is") {
  Products products;
  const auto attend = [&](Size keys, bool causal) {
    products.opened.asked.grids.clear();
    products.opened.backend.attention(products.a, products.b, products.b, products.c, 1, 4, 1, keys,
                                      64, 0.125, causal, keys - 1);
    return products.opened.asked.grids;
  };
  for (Size keys = 1; keys <= 300; ++keys) attend(keys, true);
  CHECK(products.plans().made() == 0);
  const auto first = attend(1500, true);
  CHECK(products.plans().made() == 0);
  for (int i = 0; i < 5; ++i) CHECK(attend(1500, true) == first);
  CHECK(products.plans().made() == 1);
  for (int i = 0; i < 3; ++i) attend(1500, false);
  CHECK(products.plans().made() == 2);
}

TEST_CASE("gpu plans: attention that has little room is not kept") {
  // Pieces of the keys are joined where there is room for them.
  Products tight({.memory_limit = 3 * 4 * 700 * 700 + 5000});
  const auto attend = [&] {
    tight.opened.asked.grids.clear();
    tight.opened.backend.attention(tight.a, tight.b, tight.b, tight.c, 1, 1, 1, 6000, 64, 0.125,
                                   false);
    return tight.opened.asked.grids;
  };
  const auto with_little = attend();
  for (int i = 0; i < 3; ++i) CHECK(attend() == with_little);
  CHECK(tight.plans().made() == 0);
  tight.opened.backend.free(std::exchange(tight.a, Buffer::null));
  tight.a = tight.opened.backend.alloc(1024);
  CHECK(attend() != with_little);
}

struct Place {
  std::uint64_t value = 0;
  std::uint64_t hash() const { return value << 59; }  // one set for each 32nd
  bool operator==(const Place&) const = default;
};

TEST_CASE("gpu plans: a set holds the ones that came last") {
  PlanCache<Place, int> cache;
  int made = 0;
  const auto get = [&](std::uint64_t key) {
    if (const int kept = cache.find({key})) return kept;
    cache.keep({key}, ++made);
    return made;
  };
  for (std::uint64_t i = 0; i < 4; ++i) CHECK(get(32 * i) == static_cast<int>(i) + 1);
  for (std::uint64_t i = 0; i < 4; ++i) CHECK(get(32 * i) == static_cast<int>(i) + 1);
  CHECK(get(128) == 5);
  CHECK(get(0) == 6);
  CHECK(get(128) == 5);
  CHECK(cache.kept() == 4);
  CHECK(cache.made() == 6);
}

}  // namespace
}  // namespace tilewright::gpu
