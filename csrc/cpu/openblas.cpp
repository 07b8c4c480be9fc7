#include "cpu/openblas.hpp"

#include <string_view>
#include <type_traits>
#include <utility>

#include "core/dynamic_library.hpp"
#include "core/environment.hpp"
#include "core/environment_copy.hpp"
#include "core/text.hpp"
#include "cpu/openblas_memory.hpp"
#include "cpu/processor.hpp"
#include "tilewright/error.hpp"

namespace tilewright::cpu {

namespace {

constexpr int row_major = 101, no_transpose = 111, transpose = 112;

/// OpenBLAS knows processors by model and takes its AVX2 kernels for one of another maker that is
/// newer than itself. Its kernels for Intel's first AVX-512 processors run on all that have
/// AVX-512; those for later ones differ in bfloat16 alone, which is not used here.
const char* core_type() {
  return usable_isa() == Isa::avx512 && !is_intel() ? "SkylakeX" : nullptr;
}

std::string symbol_of(std::size_t type, std::size_t routine) {
  constexpr std::string_view letters = "sdcz";
  constexpr std::array<std::string_view, routine_count> real{
      "gemm", "trsm", "potrf", "getrf", "gelqf", "orglq", "syevd", "gesdd", "geev"};
  constexpr std::array<std::string_view, routine_count> complex{
      "gemm", "trsm", "potrf", "getrf", "gelqf", "unglq", "heevd", "gesdd", "geev"};
  const std::string_view name = (type < 2 ? real : complex)[routine];
  // Of BLAS the interface that knows rows.
  return routine < 2 ? text("scipy_cblas_", letters[type], name)
                     : text("scipy_", letters[type], name, "_");
}

OpenBlas open() {
  const auto chosen = environment("TILEWRIGHT_OPENBLAS_LIBRARY");
  const std::string path = chosen.value_or(own_folder() + TILEWRIGHT_OPENBLAS_NAME);
  const char* const remedy =
      chosen ? "point TILEWRIGHT_OPENBLAS_LIBRARY at the library of the scipy-openblas32 package, "
               "or unset it"
             : "reinstall tilewright, or point TILEWRIGHT_OPENBLAS_LIBRARY at the library of the "
               "scipy-openblas32 package";

  // Read when the library is loaded; without them it would start threads of its own.
  EnvironmentCopy::Variables variables{{"OPENBLAS_NUM_THREADS", "1"}};
  if (const char* type = core_type(); type != nullptr && !environment("OPENBLAS_CORETYPE")) {
    variables.emplace_back("OPENBLAS_CORETYPE", type);
  }
  check_room_for_openblas();
  const DynamicLibrary library = [&] {
    const EnvironmentCopy as_it_is_loaded(std::move(variables));
    return DynamicLibrary(path);
  }();
  if (!library) {
    throw BackendUnavailable(
        text("cpu: OpenBLAS could not be opened from ", path, ": ", library.error(), "; ", remedy));
  }
  const auto missing = [&](const char* symbol) {
    return BackendUnavailable(text("cpu: ", path, " has no ", symbol, "; ", remedy));
  };
  OpenBlas blas;
  blas.sgemm = library.function<std::remove_pointer_t<decltype(blas.sgemm)>>("scipy_cblas_sgemm");
  if (blas.sgemm == nullptr) throw missing("scipy_cblas_sgemm");
  for (std::size_t type = 0; type < blas.routines.size(); ++type) {
    for (std::size_t routine = 0; routine < routine_count; ++routine) {
      const std::string name = symbol_of(type, routine);
      blas.routines[type][routine] = library.function<void()>(name.c_str());
      if (blas.routines[type][routine] == nullptr) throw missing(name.c_str());
    }
  }
  auto* const set_threads = library.function<void(int)>("scipy_openblas_set_num_threads");
  if (set_threads == nullptr) throw missing("scipy_openblas_set_num_threads");
  auto* const core_name = library.function<const char*()>("scipy_openblas_get_corename");
  if (core_name == nullptr) throw missing("scipy_openblas_get_corename");
  set_threads(1);
  blas.core = core_name();
  supply_openblas(reinterpret_cast<const void*>(blas.sgemm));
  return blas;
}

}  // namespace

const OpenBlas& openblas() {
  // Never destroyed: threads may compute until the process ends.
  static const auto* const blas = new OpenBlas(open());
  return *blas;
}

void multiply(Size m, Size n, Size k, float alpha, const Matrix& a, const Matrix& b, float beta,
              float* c, Size ldc) {
  const OpenBlas& blas = openblas();
  const ProductMemory memory;
  blas.sgemm(row_major, a.transposed ? transpose : no_transpose,
             b.transposed ? transpose : no_transpose, static_cast<int>(m), static_cast<int>(n),
             static_cast<int>(k), alpha, a.data, static_cast<int>(a.ld), b.data,
             static_cast<int>(b.ld), beta, c, static_cast<int>(ldc));
}

}  // namespace tilewright::cpu
