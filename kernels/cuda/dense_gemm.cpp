// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/dense_gemm.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "core/diagnostics.hpp"
#include "kernels/cuda/cuda_check.cuh"
#include "kernels/cuda/implementation.hpp"
#include "kernels/cuda/matmul_descriptor.cuh"

namespace pleat::cuda {
namespace {

constexpr int kCandidates = 8, kWarmUps = 1, kRuns = 5;

std::mutex chosen_mutex;
std::map<DenseProblem, std::optional<cublasLtMatmulAlgo_t>> chosen;  // of the whole process

class Timer {
 public:
  explicit Timer(cudaStream_t stream) : stream_(stream) {
    PLEAT_CUDA_CHECK(cudaEventCreate(&begin_));
    PLEAT_CUDA_CHECK(cudaEventCreate(&end_));
  }
  ~Timer() {
    cudaEventDestroy(end_);
    cudaEventDestroy(begin_);
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  template <class Work>
  [[nodiscard]] double seconds(Work work) {
    PLEAT_CUDA_CHECK(cudaEventRecord(begin_, stream_));
    work();
    PLEAT_CUDA_CHECK(cudaEventRecord(end_, stream_));
    PLEAT_CUDA_CHECK(cudaEventSynchronize(end_));
    float milliseconds = 0;
    PLEAT_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, begin_, end_));
    return milliseconds * 1e-3;
  }

 private:
  cudaStream_t stream_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

// How candidates are timed: `before` each run, `accumulate` as the problem will.
struct Trial {
  const void *a = nullptr, *b = nullptr;
  void* c = nullptr;
  bool accumulate = false;
  int runs = 1;
  std::function<void()> before;
};

}  // namespace

struct DenseGemm::Library {
  Resources& resources;
  bool tune;
  cublasLtHandle_t handle = nullptr;
  const float* device_factors = nullptr;  // of the call that runs

  void multiply(const MatmulDescriptor& d, const cublasLtMatmulAlgo_t& algorithm, const void* a,
                const void* b, void* c, bool accumulate) {
    const float factors[2] = {1, accumulate ? 1.0f : 0.0f};
    const float* const used = device_factors == nullptr ? factors : device_factors;
    PLEAT_CUBLAS_CHECK(cublasLtMatmul(
        handle, d.operation, used, b, d.first, a, d.second, used + 1, c, d.result, c, d.result,
        &algorithm, resources.scratch(kGemmWorkspace), kGemmWorkspace, native(resources)));
  }

  // What cuBLASLt suggests. Partial sums stay in fp32: split products that add up in the output's
  // type would round there.
  [[nodiscard]] std::vector<cublasLtMatmulAlgo_t> candidates(const MatmulDescriptor& d, int most) {
    cublasLtMatmulPreference_t preference = nullptr;
    PLEAT_CUBLAS_CHECK(cublasLtMatmulPreferenceCreate(&preference));
    const std::size_t workspace = kGemmWorkspace;
    const std::uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, alignment = 16;
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      PLEAT_CUBLAS_CHECK(
          cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value)));
    };
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace);
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, schemes);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment);
    std::vector<cublasLtMatmulHeuristicResult_t> found(static_cast<std::size_t>(most));
    int count = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(handle, d.operation, d.first, d.second, d.result, d.result,
                                       preference, most, found.data(), &count);
    cublasLtMatmulPreferenceDestroy(preference);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) return {};
    if (status == CUBLAS_STATUS_INVALID_VALUE) {  // of scales or sizes that it does not take
      note_refusal("cuBLASLt declines a product", "CUBLAS_STATUS_INVALID_VALUE from its heuristic");
      return {};
    }
    PLEAT_CUBLAS_CHECK(status);
    std::vector<cublasLtMatmulAlgo_t> all;
    for (int i = 0; i < count; ++i) {
      const cublasLtMatmulHeuristicResult_t& one = found[static_cast<std::size_t>(i)];
      if (one.state == CUBLAS_STATUS_SUCCESS) all.push_back(one.algo);
    }
    return all;
  }

  // Median seconds of one candidate; c is overwritten. None: cuBLASLt does not run it after all.
  [[nodiscard]] std::optional<double> time(const MatmulDescriptor& d, const Trial& t,
                                           const cublasLtMatmulAlgo_t& algorithm) {
    Timer timer(native(resources));
    std::vector<double> seconds;
    try {
      for (int i = 0; i < kWarmUps + t.runs; ++i) {
        if (t.before) t.before();
        const double s =
            timer.seconds([&] { multiply(d, algorithm, t.a, t.b, t.c, t.accumulate); });
        if (i >= kWarmUps) seconds.push_back(s);
      }
    } catch (const DeviceError& e) {
      static_cast<void>(cudaGetLastError());  // the next candidate is not to blame
      note_refusal("a candidate of cuBLASLt is left out", e.what());
      return std::nullopt;
    }
    std::sort(seconds.begin(), seconds.end());
    return seconds[seconds.size() / 2];
  }

  // Seconds of all that run, fastest first.
  [[nodiscard]] std::vector<double> times(const MatmulDescriptor& d, const Trial& t) {
    std::vector<double> seconds;
    for (const cublasLtMatmulAlgo_t& algorithm : candidates(d, 32)) {
      if (const auto s = time(d, t, algorithm)) seconds.push_back(*s);
    }
    std::sort(seconds.begin(), seconds.end());
    return seconds;
  }

  // None: cuBLASLt has no kernel for the problem.
  [[nodiscard]] std::optional<cublasLtMatmulAlgo_t> choose(const DenseProblem& p,
                                                           const MatmulDescriptor& d, const void* a,
                                                           const void* b, void* c) {
    std::unique_lock lock(chosen_mutex);  // two ranks' timings would disturb each other
    auto known = chosen.find(p);
    const bool capturing = known == chosen.end() && resources.capturing();
    if (known == chosen.end() && tune && !capturing) {
      // The stream may wait for a collective that another rank comes to with the lock only.
      lock.unlock();
      synchronize(resources.stream());
      lock.lock();
      known = chosen.find(p);
    }
    if (known != chosen.end()) return known->second;
    const std::vector<cublasLtMatmulAlgo_t> all =
        candidates(d, tune && !capturing ? kCandidates : 1);
    if (all.size() <= 1) {
      const auto only = all.empty() ? std::nullopt : std::optional(all[0]);
      if (!capturing || !tune) chosen.emplace(p, only);
      return only;
    }
    // Accumulating into c while timing would change it.
    const std::size_t bytes =
        p.accumulate ? static_cast<std::size_t>(bytes_of(p.output, p.m * p.n)) : std::size_t{0};
    const StreamBuffer spare(resources.stream(), bytes);
    if (bytes > 0) PLEAT_CUDA_CHECK(cudaMemsetAsync(spare.data(), 0, bytes, native(resources)));
    const Trial trial{.a = a, .b = b, .c = p.accumulate ? spare.data() : c,
                      .accumulate = p.accumulate, .runs = kRuns, .before = {}};
    std::optional<cublasLtMatmulAlgo_t> best;
    double least = 0;
    for (const cublasLtMatmulAlgo_t& algorithm : all) {
      const auto seconds = time(d, trial, algorithm);
      if (!seconds || (best && *seconds >= least)) continue;
      best = algorithm;
      least = *seconds;
    }
    chosen.emplace(p, best);
    return best;
  }
};

DenseGemm::DenseGemm(Resources& resources, bool tune)
    : library_(new Library{resources, tune, nullptr}) {
  resources.device().make_current();
  PLEAT_CUBLAS_CHECK(cublasLtCreate(&library_->handle));
}

DenseGemm::~DenseGemm() { cublasLtDestroy(library_->handle); }

bool DenseGemm::fits(View a, View b, View c) {
  const auto aligned = [](View v) {
    return aligned16(v.data) && bytes_of(v.dtype, v.cols) % 16 == 0;
  };
  const bool types = a.dtype == b.dtype && (a.dtype == DType::bf16
                                                ? c.dtype == DType::bf16 || c.dtype == DType::fp32
                                                : a.dtype == DType::fp32 && c.dtype == DType::fp32);
  return types && aligned(a) && aligned(b) && aligned(c);
}

void DenseGemm::run(const DenseProblem& p, const void* a, const void* b, void* c) {
  library_->resources.device().make_current();
  const MatmulDescriptor d(p);
  const auto algorithm = library_->choose(p, d, a, b, c);
  if (!algorithm)
    throw DeviceError("cublasLtMatmulAlgoGetHeuristic", "no algorithm", __FILE__, __LINE__);
  library_->multiply(d, *algorithm, a, b, c, p.accumulate);
}

bool DenseGemm::run(DenseProblem p, const NarrowOperand& a, const NarrowOperand& b,
                    const float* factors, void* c) {
  library_->resources.device().make_current();
  p.narrow_a = a.kind;
  p.narrow_b = b.kind;
  MatmulDescriptor d(p);
  d.set_scales(a, b, factors != nullptr);
  library_->device_factors = factors;
  const auto algorithm = library_->choose(p, d, a.codes, b.codes, c);
  if (algorithm) library_->multiply(d, *algorithm, a.codes, b.codes, c, p.accumulate);
  library_->device_factors = nullptr;
  return algorithm.has_value();
}

std::vector<double> DenseGemm::time_candidates(DenseProblem p, const NarrowOperand& a,
                                               const NarrowOperand& b, void* c, int runs,
                                               const std::function<void()>& before) {
  library_->resources.device().make_current();
  p.narrow_a = a.kind;
  p.narrow_b = b.kind;
  MatmulDescriptor d(p);
  d.set_scales(a, b, false);
  return library_->times(d, {a.codes, b.codes, c, p.accumulate, runs, before});
}

std::vector<double> DenseGemm::time_candidates(const DenseProblem& p, const void* a, const void* b,
                                               void* c, int runs,
                                               const std::function<void()>& before) {
  library_->resources.device().make_current();
  const MatmulDescriptor d(p);
  return library_->times(d, {a, b, c, p.accumulate, runs, before});
}

}  // namespace pleat::cuda
