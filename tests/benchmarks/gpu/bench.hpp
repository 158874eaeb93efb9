// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What GPU benchmarks share: operands of random normals, the median time of runs that start with a
// flushed L2, and one JSON object a line for every result.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/device.hpp"

namespace pleat::bench {

class Bench {
 public:
  Bench(std::string filter, int runs);
  ~Bench();
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  [[nodiscard]] const cuda::CudaDevice& device() const { return device_; }
  [[nodiscard]] KernelSet& kernels() { return *kernels_; }
  [[nodiscard]] bool wanted(const std::string& name) const;

  // Memory until release_all. Values: normals of deviation `size`.
  [[nodiscard]] View random(DType type, std::int64_t rows, std::int64_t cols, double size = 1);
  [[nodiscard]] View i32(const std::vector<std::int32_t>& values, std::int64_t rows = 1);
  void release_all();

  [[nodiscard]] double median_seconds(const std::function<void()>& work);
  // Bytes a second of the faster of a copy engine's and a kernel's copy of 1 GiB, measured once.
  [[nodiscard]] double copy_bandwidth();

  // Times the work against the copy bandwidth; `formula` says what `bytes` counts.
  void memory_bound(const std::string& kernel, const std::string& shape, double bytes,
                    const std::string& formula, const std::function<void()>& work);
  // Times the work against another's seconds for the same FLOPs.
  void compute_bound(const std::string& kernel, const std::string& shape, double flops,
                     double reference_seconds, const std::string& reference,
                     const std::function<void()>& work);

 private:
  void print(const std::string& kernel, const std::string& shape, double seconds,
             const std::string& rest);

  std::string filter_;
  int runs_;
  cuda::CudaDevice device_;
  std::unique_ptr<KernelSet> kernels_;
  std::mt19937 generator_{1};
  std::vector<void*> memory_;
  void* flush_ = nullptr;
  double copy_bandwidth_ = 0;
};

void memory_bound_kernels(Bench&);
void token_kernels(Bench&);  // router, permutation, tables, loss
void dense_products(Bench&);
void grouped_products(Bench&);
void attention_kernels(Bench&);
void narrow_kernels(Bench&);  // fp8

}  // namespace pleat::bench
