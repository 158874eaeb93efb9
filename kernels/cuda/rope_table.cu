// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/rope_table.hpp"

#include <bit>
#include <vector>

#include "kernels/cuda/for_packs.cuh"

namespace pleat::cuda {
namespace {

struct Turn {
  const double* frequency;
  float2* table;
  std::int64_t half;
  double magnitude;
  __device__ void operator()(std::int64_t i) const {
    const double angle = static_cast<double>(i / half) * frequency[i % half];
    double sine, cosine;
    sincos(angle, &sine, &cosine);
    table[i] = make_float2(static_cast<float>(magnitude * cosine),
                           static_cast<float>(magnitude * sine));
  }
};

}  // namespace

const void* rope_table(Resources& r, const RopeShape& s, std::int64_t positions) {
  for (const RopeTable& t : r.rope_tables()) {
    if (t.scaling == s.scaling && t.theta == s.theta && t.dim == s.dim &&
        t.positions >= positions) {
      return t.values.data();
    }
  }
  if (r.capturing()) {
    throw DeviceError("rope", "its table has to be made before a graph is captured", __FILE__,
                      __LINE__);
  }
  r.device().make_current();
  // Longer ones replace shorter ones only after the stream has used those.
  synchronize(r.stream());
  r.grow_older();
  std::erase_if(r.rope_tables(), [&](const RopeTable& t) {
    return t.scaling == s.scaling && t.theta == s.theta && t.dim == s.dim;
  });
  const std::int64_t half = s.dim / 2;
  const auto rows = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(positions)));
  RopeTable table{s.scaling, s.theta, s.dim, rows,
                  DeviceBuffer(static_cast<std::size_t>(rows * half) * sizeof(float2))};
  std::vector<double> frequency;
  for (std::int64_t i = 0; i < half; ++i) {
    frequency.push_back(rope_frequency(s.scaling, s.theta, s.dim, i));
  }
  const std::size_t bytes = frequency.size() * sizeof(double);
  const StreamBuffer on_device(r.stream(), bytes);
  PLEAT_CUDA_CHECK(cudaMemcpyAsync(on_device.data(), frequency.data(), bytes,
                                   cudaMemcpyHostToDevice, native(r)));
  for_each(r, rows * half,
           Turn{static_cast<const double*>(on_device.data()),
                static_cast<float2*>(table.values.data()), half, s.scaling.magnitude});
  synchronize(r.stream());
  r.rope_tables().push_back(std::move(table));
  return r.rope_tables().back().values.data();
}

}  // namespace pleat::cuda
