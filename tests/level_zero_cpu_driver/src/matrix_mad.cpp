#include "matrix_mad.hpp"

#include <algorithm>

namespace ze_cpu {
namespace {

// Of A, 8 rows of 32 bytes, 16 work-items have two bytes of each row, 8 have four. Of B each has a
// column, four bytes of k a word; of the sums 8 rows of its column.
constexpr const char* kSource = R"(
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define OVERLOADABLE __attribute__((overloadable))

/// Word j of the 8 of a row of A.
OVERLOADABLE int word_of(int row, int j) { return sub_group_broadcast(row, j); }
OVERLOADABLE int word_of(uint row, int j) { return sub_group_broadcast((int)row, j); }
OVERLOADABLE int word_of(short row, int j) {
  const int low = sub_group_broadcast((int)row, 2 * j);
  const int high = sub_group_broadcast((int)row, 2 * j + 1);
  return (low & 0xffff) | (high << 16);
}
OVERLOADABLE int word_of(ushort row, int j) { return word_of(as_short(row), j); }

#define HALVES(sum, x, y)                                        \
  sum = fma((float)as_half2(x).x, (float)as_half2(y).x, sum);    \
  sum = fma((float)as_half2(x).y, (float)as_half2(y).y, sum);
#define BYTES(of)                                                \
  const int4 products = convert_int4(as_##of##4(x)) * convert_int4(as_##of##4(y)); \
  sum += products.x + products.y + products.z + products.w;
#define I8(sum, x, y) { BYTES(char) }
#define U8(sum, x, y) { BYTES(uchar) }

#define MATRIX_MAD(name, ROWS, COLUMN, SUMS, SUM, add)           \
  OVERLOADABLE SUMS name(ROWS a, COLUMN b, SUMS sums) {          \
    for (int i = 0; i < 8; ++i) {                                \
      SUM sum = sums[i];                                         \
      for (int j = 0; j < 8; ++j) {                              \
        const int x = word_of(a[i], j);                          \
        const int y = b[j];                                      \
        add(sum, x, y)                                           \
      }                                                          \
      sums[i] = sum;                                             \
    }                                                            \
    return sums;                                                 \
  }
MATRIX_MAD(intel_sub_group_f16_f16_matrix_mad_k16, short8, int8, float8, float, HALVES)
MATRIX_MAD(intel_sub_group_f16_f16_matrix_mad_k16, int8, int8, float8, float, HALVES)
MATRIX_MAD(intel_sub_group_i8_i8_matrix_mad_k32, short8, int8, int8, int, I8)
MATRIX_MAD(intel_sub_group_i8_i8_matrix_mad_k32, int8, int8, int8, int, I8)
MATRIX_MAD(intel_sub_group_u8_u8_matrix_mad_k32, ushort8, uint8, int8, int, U8)
MATRIX_MAD(intel_sub_group_u8_u8_matrix_mad_k32, uint8, uint8, int8, int, U8)
)";

void require_built(cl_int error, cl_program program, std::string& log) {
  if (program != nullptr) log = build_log(program);
  if (error != CL_SUCCESS) {
    fail(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, log.empty() ? std::to_string(error) : log);
  }
}

void compile(cl_program program, const std::string& options, std::string& log) {
  const OpenCL& cl = opencl();
  const cl_int error = cl.clCompileProgram(program, 1, &cl.device, options.c_str(), 0, nullptr,
                                           nullptr, nullptr, nullptr);
  require_built(error, program, log);
}

}  // namespace

bool imports_matrix_mad(const SpirvModule& spirv) {
  return std::any_of(spirv.imports.begin(), spirv.imports.end(), [](const std::string& name) {
    return name.find("_matrix_mad_k") != std::string::npos;
  });
}

Program with_matrix_mad(Program program, const std::string& options, std::string& log) {
  const OpenCL& cl = opencl();
  cl_int error = CL_SUCCESS;
  const char* source = kSource;
  const Program built_ins =
      owned(cl.clCreateProgramWithSource(cl.context, 1, &source, nullptr, &error), error);
  compile(built_ins.get(), "-cl-std=CL3.0", log);
  compile(program.get(), options, log);
  const cl_program parts[] = {program.get(), built_ins.get()};
  Program linked(
      cl.clLinkProgram(cl.context, 1, &cl.device, "", 2, parts, nullptr, nullptr, &error),
      cl.clReleaseProgram);
  require_built(error, linked.get(), log);
  return linked;
}

}  // namespace ze_cpu
