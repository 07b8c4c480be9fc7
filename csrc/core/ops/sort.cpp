#include <limits>

#include "core/call.hpp"
#include "core/text.hpp"
#include "tilewright/backend.hpp"

// sort, argsort and topk: one request for all.
namespace tilewright {

namespace {

SortRequest checked_rows(const Call& call, Buffer input, Size rows, Size length, Size kept,
                         DType dtype, bool descending) {
  call.known("dtype", dtype);
  call.not_negative("rows", rows);
  call.not_negative("length", length);
  SortRequest r{};
  r.op = call.op();
  r.input = call.buffer("input", input, call.mul(rows, length), dtype);
  r.rows = rows;
  r.length = length;
  r.kept = kept;
  r.dtype = dtype;
  r.index_dtype = DType::int64;
  r.descending = descending;
  return r;
}

void check_indices(const Call& call, SortRequest& r, Buffer indices, DType index_dtype) {
  call.known("index_dtype", index_dtype);
  if (index_dtype != DType::int64 && index_dtype != DType::int32) {
    call.invalid(text("index_dtype is ", to_string(index_dtype), ", expected int64 or int32"));
  }
  constexpr Size most = Size{1} << 31;
  if (index_dtype == DType::int32 && r.length > most) {
    call.invalid(text("length is ", r.length, ", but index_dtype int32 counts to ", most - 1,
                      "; take int64"));
  }
  r.index_dtype = index_dtype;
  r.indices = call.buffer("indices", indices, call.mul(r.rows, r.kept), index_dtype);
  call.apart("indices", r.indices, "input", r.input);
}

}  // namespace

void Backend::sort(Buffer input, Buffer output, Size rows, Size length, bool descending,
                   DType dtype) {
  Call call(*state_, "sort");
  SortRequest r = checked_rows(call, input, rows, length, length, dtype, descending);
  r.values = call.buffer("output", output, rows * length, dtype);
  call.apart_or_same("output", r.values, "input", r.input);
  call.checked();
  if (rows != 0 && length != 0) do_sort(r);
}

void Backend::argsort(Buffer input, Buffer indices, Size rows, Size length, bool descending,
                      DType dtype, DType index_dtype) {
  Call call(*state_, "argsort");
  SortRequest r = checked_rows(call, input, rows, length, length, dtype, descending);
  check_indices(call, r, indices, index_dtype);
  call.checked();
  if (rows != 0 && length != 0) do_sort(r);
}

void Backend::topk(Buffer input, Buffer values, Buffer indices, Size rows, Size length, Size k,
                   bool largest, DType dtype, DType index_dtype) {
  Call call(*state_, "topk");
  SortRequest r = checked_rows(call, input, rows, length, k, dtype, largest);
  if (k < 0 || k > length) {
    call.invalid(text("k is ", k, ", expected 0 to ", length, ", the length of a row"));
  }
  r.values = call.buffer("values", values, rows * k, dtype);
  call.apart("values", r.values, "input", r.input);
  check_indices(call, r, indices, index_dtype);
  call.apart("indices", r.indices, "values", r.values);
  call.checked();
  if (rows != 0 && k != 0) do_sort(r);
}

}  // namespace tilewright
