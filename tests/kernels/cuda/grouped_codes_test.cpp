// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Grouped products of 8-bit codes on a GPU against the CPU's on the same codes, at sizes that
// CUTLASS's kernels take.
#include <cmath>
#include <numeric>

#include "tests/kernels/cuda/gpu_test.hpp"

namespace pleat::cuda {
namespace {

struct Recipe {
  const char* name;
  Quantization x, x_column, d, d_column, w;
};

Quantization blocks(std::int64_t rows, std::int64_t cols) {
  return {.rule = ScaleRule::power_of_two, .block_rows = rows, .block_cols = cols};
}

// One matrix of codes in each memory.
struct Codes {
  std::vector<std::uint8_t> here;
  DeviceBuffer there;
  BlockScales scales_here, scales_there;
  View cpu, gpu;
};

class GroupedProductsOfCodes : public GpuTest {
 protected:
  std::unique_ptr<Codes> quantized(std::int64_t rows, std::int64_t cols,
                                   std::vector<std::int32_t>& counts, const Quantization& q,
                                   std::uint32_t seed) {
    const auto bytes = static_cast<std::size_t>(rows * cols);
    auto made = std::make_unique<Codes>(
        Codes{std::vector<std::uint8_t>(bytes), DeviceBuffer(bytes), {}, {}, {}, {}});
    std::vector<float> values = test_values(rows * cols, seed);
    const DeviceMatrix x(DType::fp32, rows, cols, values);
    DeviceBuffer groups(counts.size() * sizeof counts[0]);
    groups.upload(counts.data());
    made->cpu = {made->here.data(), DType::fp8, rows, cols, &made->scales_here};
    made->gpu = {made->there.data(), DType::fp8, rows, cols, &made->scales_there};
    const std::int64_t n = std::ssize(counts);
    cpu_->quantize({values.data(), DType::fp32, rows, cols}, {counts.data(), DType::i32, 1, n},
                   made->cpu, q);
    kernels().quantize(x.view(), {groups.data(), DType::i32, 1, n}, made->gpu, q);
    wait();
    return made;
  }
  // Sums of tensor cores keep fewer bits than fp32 between two additions.
  static void expect_close(const std::vector<float>& got, const std::vector<float>& want,
                           double of_each, const char* what) {
    double most = 0;
    for (const float v : want) most = std::max(most, std::abs(static_cast<double>(v)));
    for (std::size_t i = 0; i < want.size(); ++i) {
      ASSERT_NEAR(got[i], want[i], of_each * std::abs(want[i]) + 1e-3 * most)
          << what << " at " << i;
    }
  }

  std::unique_ptr<KernelSet> cpu_ = cpu_kernels();
};

TEST_F(GroupedProductsOfCodes, AreTheReferences) {
  const Quantization tensor{}, gradient{.format = pleat::SmallFloat::e5m2};
  const std::int64_t n = 256, k = 384;
  for (const Recipe& r : {Recipe{"tensor", tensor, tensor, gradient, gradient, tensor},
                          Recipe{"blocks", blocks(1, 128), blocks(128, 1), blocks(1, 128),
                                 blocks(128, 1), blocks(128, 128)}}) {
    for (std::vector<std::int32_t> counts : std::vector<std::vector<std::int32_t>>{
             {300, 0, 1, 211}, {0, 0, 0, 512}, {128, 128, 128, 128}}) {
      SCOPED_TRACE(testing::Message() << r.name << ' ' << testing::PrintToString(counts));
      const std::int64_t rows = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
      std::vector<std::int32_t> experts(4, static_cast<std::int32_t>(n));
      const auto x = quantized(rows, k, counts, r.x, 1),
                 xc = quantized(rows, k, counts, r.x_column, 1);
      const auto d = quantized(rows, n, counts, r.d, 2),
                 dc = quantized(rows, n, counts, r.d_column, 2);
      const auto w = quantized(4 * n, k, experts, r.w, 3);
      DeviceBuffer there(counts.size() * sizeof counts[0]);
      there.upload(counts.data());
      const View here_counts{counts.data(), DType::i32, 1, 4},
          gpu_counts{there.data(), DType::i32, 1, 4};
      std::vector<float> y(static_cast<std::size_t>(rows * n)),
          dx(static_cast<std::size_t>(rows * k));
      std::vector<float> dw(static_cast<std::size_t>(4 * n * k));
      cpu_->grouped_gemm(x->cpu, w->cpu, true, here_counts, {y.data(), DType::fp32, rows, n});
      cpu_->grouped_gemm(d->cpu, w->cpu, false, here_counts, {dx.data(), DType::fp32, rows, k});
      cpu_->grouped_wgrad(dc->cpu, xc->cpu, here_counts, {dw.data(), DType::fp32, 4 * n, k}, false);
      const DeviceMatrix got_y(DType::bf16, rows, n), got_dx(DType::bf16, rows, k);
      const DeviceMatrix got_dw(DType::fp32, 4 * n, k);
      kernels().grouped_gemm(x->gpu, w->gpu, true, gpu_counts, got_y.view());
      kernels().grouped_gemm(d->gpu, w->gpu, false, gpu_counts, got_dx.view());
      kernels().grouped_wgrad(dc->gpu, xc->gpu, gpu_counts, got_dw.view(), false);
      wait();
      expect_close(got_y.values(), y, 1.0 / 256, "forward");
      expect_close(got_dx.values(), dx, 1.0 / 256, "dgrad");
      expect_close(got_dw.values(), dw, 0, "wgrad");
    }
  }
}

}  // namespace
}  // namespace pleat::cuda
