// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What GPU benchmarks share: operands of random normals, the median time of runs that start with a
// flushed L2, and one JSON object a line for every result, or for the error in its place.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <span>
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

  void flush_l2();
  [[nodiscard]] double median_seconds(const std::function<void()>& work);
  // The same of several that take turns, so that power and clocks are the same for all.
  [[nodiscard]] std::vector<double> medians_in_turns(
      std::span<const std::function<void()>> works);
  // Bytes a second of the faster of a copy engine's and a kernel's copy of 1 GiB, measured once.
  [[nodiscard]] double copy_bandwidth();

  // Runs all the benchmarks of a shape and gives their memory back. An exception becomes a line.
  void attempt(const std::string& kernel, const std::string& shape,
               const std::function<void()>& work);

  // Times the work against the copy bandwidth. `bytes` is all that its passes read and write, as
  // `formula` says; `least`, where it is less, what is left if every operand is counted once.
  void memory_bound(const std::string& kernel, const std::string& shape, double bytes,
                    const std::string& formula, const std::function<void()>& work,
                    double least = 0);
  // Times the work against another's seconds for the same FLOPs, and says which implementation took
  // its last product or attention.
  // `bytes`: what it moves at least; given, the line has the share of the slower of the reference
  // and of a copy of so many bytes.
  void compute_bound(const std::string& kernel, const std::string& shape, double flops,
                     double reference_seconds, const std::string& reference,
                     const std::function<void()>& work, double bytes = 0);
  // A line for a product that took so long.
  void product_took(const std::string& kernel, const std::string& shape, double flops,
                    double seconds);
  // A line for what this GPU or a library has no kernel for.
  void missing(const std::string& kernel, const std::string& shape, const std::string& why);
  [[nodiscard]] int errors() const { return errors_; }

 private:
  void error(const std::string& kernel, const std::string& shape, const std::string& what);
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
  int errors_ = 0, flushes_ = 0;
};

void memory_bound_kernels(Bench&);
void token_kernels(Bench&);  // router, permutation, tables, loss
void dense_products(Bench&);
void grouped_products(Bench&);
void attention_kernels(Bench&);
void quantizing(Bench&);
void narrow_products(Bench&);  // fp8

// What pleat_gpu_benchmarks runs, by name; a process each where one fault must not end the others.
struct Section {
  const char* name;
  void (*run)(Bench&);
};
[[nodiscard]] std::span<const Section> sections();

}  // namespace pleat::bench
