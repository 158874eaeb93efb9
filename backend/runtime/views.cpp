// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/runtime/views.hpp"

#include <algorithm>

#include "core/diagnostics.hpp"
#include "core/numerics/bf16.hpp"

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

// Of every member's rounded terms, shares[r] of member r: the sums of this one's share.
std::vector<float> sum_of_rounded(Communicator& comm, std::span<const float> all,
                                  std::span<const std::int64_t> shares) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  const std::int64_t own = shares[static_cast<std::size_t>(comm.rank())];
  std::vector<Bf16> sent(all.size()), received(static_cast<std::size_t>(own) * ranks);
  std::ranges::transform(all, sent.begin(), [](float x) { return to_bf16(x); });
  std::vector<std::int64_t> to(ranks), from(ranks, bytes_of(DType::bf16, own));
  std::ranges::transform(shares, to.begin(),
                         [](std::int64_t n) { return bytes_of(DType::bf16, n); });
  comm.all_to_all(std::as_bytes(std::span(sent)), to, std::as_writable_bytes(std::span(received)),
                  from);
  std::vector<float> sums(static_cast<std::size_t>(own));
  for (std::size_t i = 0; i < received.size(); ++i) {
    const std::size_t at = i % sums.size();
    sums[at] = i < sums.size() ? to_float(received[i]) : sums[at] + to_float(received[i]);
  }
  return sums;
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

void all_reduce_in_bf16(Communicator& comm, View v) {
  PLEAT_ASSERT(v.dtype == DType::fp32);
  const std::int64_t n = v.elements(), ranks = comm.size();
  std::vector<std::int64_t> shares(static_cast<std::size_t>(ranks)), sizes(shares.size());
  for (std::size_t r = 0; r < shares.size(); ++r) {
    const auto at = static_cast<std::int64_t>(r);
    shares[r] = (at + 1) * n / ranks - at * n / ranks;
    sizes[r] = bytes_of(DType::bf16, shares[r]);
  }
  const std::vector<float> sums = sum_of_rounded(comm, span_of<const float>(v), shares);
  std::vector<Bf16> own(sums.size()), all(static_cast<std::size_t>(n));
  std::ranges::transform(sums, own.begin(), [](float x) { return to_bf16(x); });
  comm.all_gather_ragged(std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all)),
                         sizes);
  std::ranges::transform(all, v.f32(), [](Bf16 x) { return to_float(x); });
}

void reduce_scatter_in_bf16(Communicator& comm, View all, View mine) {
  PLEAT_ASSERT(all.dtype == DType::fp32 && mine.dtype == DType::fp32);
  const std::vector<std::int64_t> shares(static_cast<std::size_t>(comm.size()), mine.elements());
  std::ranges::copy(sum_of_rounded(comm, span_of<const float>(all), shares), mine.f32());
}

void reduce_scatter_ragged(Communicator& comm, View all, View mine,
                           std::span<const std::int64_t> elements) {
  PLEAT_ASSERT(all.dtype == mine.dtype);
  is_bf16(all)
      ? comm.reduce_scatter_ragged(span_of<const Bf16>(all), span_of<Bf16>(mine), elements)
      : comm.reduce_scatter_ragged(span_of<const float>(all), span_of<float>(mine), elements);
}

}  // namespace pleat
