// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/runtime/views.hpp"

#include <algorithm>

#include "core/diagnostics.hpp"
#include "core/numerics/small_float.hpp"

namespace pleat {
namespace {

template <class T>
std::span<T> span_of(View v) {
  return {static_cast<T*>(v.data), static_cast<std::size_t>(v.elements())};
}

bool is_bf16(View v) {
  PLEAT_ASSERT(v.dtype == DType::bf16 || v.dtype == DType::fp32);
  return v.dtype == DType::bf16;
}

}  // namespace

std::vector<float> values_of(View v) {
  std::vector<float> values(static_cast<std::size_t>(v.elements()));
  if (is_bf16(v)) {
    std::ranges::transform(span_of<Bf16>(v), values.begin(), [](Bf16 x) { return to_float(x); });
  } else {
    std::ranges::copy(span_of<float>(v), values.begin());
  }
  return values;
}

void set_values(View v, std::span<const float> values) {
  PLEAT_ASSERT(v.elements() == std::ssize(values));
  if (is_bf16(v)) {
    std::ranges::transform(values, span_of<Bf16>(v).begin(), [](float x) { return to_bf16(x); });
  } else {
    std::ranges::copy(values, v.f32());
  }
}

void change_values(View v, const std::function<void(std::span<float>)>& change) {
  if (!is_bf16(v)) return change(span_of<float>(v));
  std::vector<float> values = values_of(v);
  change(values);
  set_values(v, values);
}

void all_reduce(Communicator& comm, View v) {
  is_bf16(v) ? comm.all_reduce(span_of<Bf16>(v)) : comm.all_reduce(span_of<float>(v));
}

void reduce_scatter(Communicator& comm, View all, View mine) {
  PLEAT_ASSERT(all.dtype == mine.dtype);
  is_bf16(all) ? comm.reduce_scatter(span_of<const Bf16>(all), span_of<Bf16>(mine))
               : comm.reduce_scatter(span_of<const float>(all), span_of<float>(mine));
}

void reduce_scatter_ragged(Communicator& comm, View all, View mine,
                           std::span<const std::int64_t> elements) {
  PLEAT_ASSERT(all.dtype == mine.dtype);
  is_bf16(all)
      ? comm.reduce_scatter_ragged(span_of<const Bf16>(all), span_of<Bf16>(mine), elements)
      : comm.reduce_scatter_ragged(span_of<const float>(all), span_of<float>(mine), elements);
}

}  // namespace pleat
