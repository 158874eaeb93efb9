// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Attention of random numbers on the emulated GPU, by loops in cuDNN's place and by our own
// kernels.
#pragma once

#include "core/numerics/small_float.hpp"
#include "kernels/cuda/cudnn_sdpa.hpp"
#include "tests/kernels/emulation/emulated_device.hpp"

namespace pleat::cuda {
extern int emulated_attentions;
}  // namespace pleat::cuda

namespace pleat::conformance {

struct Numbers {
  std::vector<Bf16> values;
  View view;
  Numbers(std::int64_t rows, std::int64_t cols, int seed) {
    for (const double v : random_matrix(rows, cols, seed).values) {
      values.push_back(to_bf16(static_cast<float>(v)));
    }
    view = {values.data(), DType::bf16, rows, cols};
  }
  Numbers(const Numbers&) = delete;
  [[nodiscard]] Matrix matrix() const {
    Matrix m(view.rows, view.cols);
    for (std::size_t i = 0; i < values.size(); ++i) m.values[i] = to_float(values[i]);
    return m;
  }
};

struct Result {
  std::vector<Matrix> tensors;
  int calls = 0;  // of the library
};

// run(kernels) on a device whose attention is cuDNN's, or our own.
template <class Run>
Result result_of(bool cudnn, Run run) {
  cuda::emulated_cudnn = cudnn;
  EmulatedDevice device(false);
  cuda::emulated_cudnn = false;
  const int before = cuda::emulated_attentions;
  Result r{run(device.kernels()), 0};
  r.calls = cuda::emulated_attentions - before;
  return r;
}

template <class Run>
void expect_like_our_own(Run run, int calls) {
  const Result got = result_of(true, run), want = result_of(false, run);
  EXPECT_EQ(got.calls, calls);
  EXPECT_EQ(want.calls, 0);
  for (std::size_t i = 0; i < got.tensors.size(); ++i) {
    expect_close(got.tensors[i], want.tensors[i], ("tensor " + std::to_string(i)).c_str(), 1.5e-2);
  }
}

inline Matrix fp32(const std::vector<float>& values, std::int64_t cols) {
  Matrix m(std::ssize(values) / cols, cols);
  m.values.assign(values.begin(), values.end());
  return m;
}

// All heads at once; or, in deterministic backward passes, as few as can be: a call for those that
// share a key.
class EmulatedHeads : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam()) cuda::most_score_bytes = 1;
  }
  void TearDown() override { cuda::most_score_bytes = before_; }

 private:
  std::int64_t before_ = cuda::most_score_bytes;
};

}  // namespace pleat::conformance
