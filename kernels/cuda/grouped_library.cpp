// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/grouped_library.hpp"

#include <dlfcn.h>

#include <bit>
#include <string>

#include "kernels/cuda/cuda_check.cuh"
#include "kernels/cuda/dense_gemm.hpp"
#include "kernels/cuda/device_error.hpp"
#include "kernels/cuda/implementation.hpp"
#include "kernels/cuda/narrow_layout.hpp"

namespace pleat::cuda {
namespace {

void check(int status, const char* call) {
  if (status == lt::kSuccess) return;
  throw DeviceError(call, ("cuBLASLt's status " + std::to_string(status)).c_str(), __FILE__,
                    __LINE__);
}

bool fits(const Strided& s) {
  return s.dtype == DType::bf16 && aligned16(s.data) && (s.row == 1 || s.col == 1) &&
         (s.row == 1 ? s.col : s.row) % 8 == 0;
}

}  // namespace

namespace {

// Fills `f`; what is missing first, or empty.
std::string find_functions(void* library, GroupedFunctions* f) {
  if (library == nullptr) return "no library";
  std::string missing;
  const auto find = [&](auto*& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr && missing.empty()) missing = std::string("no ") + name;
  };
  find(f->version, "cublasLtGetVersion");
  find(f->create, "cublasLtCreate");
  find(f->destroy, "cublasLtDestroy");
  find(f->descriptor_create, "cublasLtMatmulDescCreate");
  find(f->descriptor_destroy, "cublasLtMatmulDescDestroy");
  find(f->descriptor_set, "cublasLtMatmulDescSetAttribute");
  find(f->layout_create, "cublasLtGroupedMatrixLayoutCreate");
  find(f->layout_destroy, "cublasLtMatrixLayoutDestroy");
  find(f->layout_set, "cublasLtMatrixLayoutSetAttribute");
  find(f->preference_create, "cublasLtMatmulPreferenceCreate");
  find(f->preference_destroy, "cublasLtMatmulPreferenceDestroy");
  find(f->preference_set, "cublasLtMatmulPreferenceSetAttribute");
  find(f->heuristic, "cublasLtMatmulAlgoGetHeuristic");
  find(f->multiply, "cublasLtMatmul");
  if (missing.empty() && f->version() < lt::kLeastVersion) {
    missing = "version " + std::to_string(lt::kLeastVersion) + " is needed, this is " +
              std::to_string(f->version());
  }
  return missing;
}

}  // namespace

std::string grouped_objection(void* library) {
  GroupedFunctions functions;
  return find_functions(library, &functions);
}

std::unique_ptr<const GroupedFunctions> grouped_functions(void* library) {
  auto f = std::make_unique<GroupedFunctions>();
  return find_functions(library, f.get()).empty() ? std::move(f) : nullptr;
}

// The descriptors of one call.
class GroupedLibrary::Call {
 public:
  Call(const GroupedFunctions& f, const Shape& s, const GroupedArrays& arrays) : f_(f) {
    check(f.descriptor_create(&descriptor_, lt::kCompute32, lt::kFp32), "cublasLtMatmulDescCreate");
    set(lt::kTransposeA, std::int32_t{s.transpose_first ? lt::kTransposed : lt::kNormal});
    set(lt::kTransposeB, std::int32_t{s.transpose_second ? lt::kTransposed : lt::kNormal});
    set(lt::kPointerMode, std::int32_t{lt::kPointersOnDevice});
    set(lt::kAlphaStride, std::int64_t{1});  // a pointer for each group
    set(lt::kBetaStride, std::int64_t{1});
    const int groups = static_cast<int>(s.groups);
    const auto layout = [&](lt::Layout& to, int type, const std::int64_t* rows,
                            const std::int64_t* columns, const std::int64_t* ld) {
      check(f.layout_create(&to, type, groups, rows, columns, ld),
            "cublasLtGroupedMatrixLayoutCreate");
      for (const int attribute : {lt::kShapeWidth, lt::kLdWidth}) {
        const std::int32_t width = lt::kWidth64;
        check(f.layout_set(to, attribute, &width, sizeof width),
              "cublasLtMatrixLayoutSetAttribute");
      }
    };
    layout(first, lt::kBf16, s.transpose_first ? arrays.k : arrays.m,
           s.transpose_first ? arrays.m : arrays.k, arrays.ld_first);
    layout(second, lt::kBf16, s.transpose_second ? arrays.n : arrays.k,
           s.transpose_second ? arrays.k : arrays.n, arrays.ld_second);
    layout(result, s.wide_result ? lt::kFp32 : lt::kBf16, arrays.m, arrays.n, arrays.ld_result);
  }
  ~Call() {
    for (const lt::Layout l : {result, second, first}) {
      if (l != nullptr) f_.layout_destroy(l);
    }
    if (descriptor_ != nullptr) f_.descriptor_destroy(descriptor_);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // By the average group, which is all that the host knows.
  [[nodiscard]] std::optional<lt::Algorithm> choose(lt::Handle handle, const Shape& s) const {
    lt::Preference preference = nullptr;
    check(f_.preference_create(&preference), "cublasLtMatmulPreferenceCreate");
    const auto prefer = [&](int attribute, auto value) {
      check(f_.preference_set(preference, attribute, &value, sizeof value),
            "cublasLtMatmulPreferenceSetAttribute");
    };
    prefer(lt::kMostWorkspace, kGemmWorkspace);
    for (const int operand : {lt::kAlignmentA, lt::kAlignmentB, lt::kAlignmentC, lt::kAlignmentD}) {
      prefer(operand, std::uint32_t{16});
    }
    prefer(lt::kAverageRows, s.n);
    prefer(lt::kAverageColumns, s.by_depth ? s.m : s.m / s.groups);
    prefer(lt::kAverageDepth, s.by_depth ? s.k / s.groups : s.k);
    lt::Heuristic found{};
    int count = 0;
    const int status = f_.heuristic(handle, descriptor_, first, second, result, result, preference,
                                    1, &found, &count);
    f_.preference_destroy(preference);
    if (status != lt::kSuccess || count < 1 || found.state != lt::kSuccess) return std::nullopt;
    return found.algorithm;
  }

  [[nodiscard]] lt::Descriptor descriptor() const { return descriptor_; }
  lt::Layout first = nullptr, second = nullptr, result = nullptr;

 private:
  template <class T>
  void set(int attribute, const T& value) {
    check(f_.descriptor_set(descriptor_, attribute, &value, sizeof value),
          "cublasLtMatmulDescSetAttribute");
  }
  const GroupedFunctions& f_;
  lt::Descriptor descriptor_ = nullptr;
};

GroupedLibrary::~GroupedLibrary() {
  if (handle_ != nullptr) functions_->destroy(handle_);
}

bool GroupedLibrary::ready() {
  if (!asked_) {
    asked_ = true;
    if (capability(resources_) >= 90) {
      void* const library = cublaslt_handle();
      functions_ = grouped_functions(library);
      if (functions_ == nullptr) {
        note_refusal("cuBLASLt's grouped product is not used", grouped_objection(library));
      }
    }
    if (functions_ != nullptr) check(functions_->create(&handle_), "cublasLtCreate");
  }
  return functions_ != nullptr;
}

bool GroupedLibrary::multiply(const Products& p) {
  const bool by_depth = p.grouping == Products::Grouping::depth;
  if (p.counts == nullptr || p.grouping == Products::Grouping::none || p.groups > 1023)
    return false;
  if (p.m == 0 || p.n == 0 || p.k == 0 || !fits(p.a) || !fits(p.b)) return false;
  if (p.c.col != 1 || p.c.row % 8 != 0 || !aligned16(p.c.data) || p.group_step % 8 != 0)
    return false;
  if (p.c.dtype != (by_depth ? DType::fp32 : DType::bf16) || (p.accumulate && !by_depth))
    return false;
  if (!ready()) return false;
  resources_.device().make_current();
  // Rows differ from step to step: one algorithm for all between two powers of two.
  const auto rounded = [](std::int64_t rows) {
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(rows)));
  };
  const Shape shape{.m = by_depth ? p.m : rounded(p.m),
                    .n = p.n,
                    .k = by_depth ? rounded(p.k) : p.k,
                    .groups = p.groups,
                    .by_depth = by_depth,
                    .transpose_first = p.b.row == 1,
                    .transpose_second = p.a.row == 1,
                    .wide_result = p.c.dtype == DType::fp32};
  const std::size_t each = Scratch::bytes<std::int64_t>(p.groups);
  Scratch scratch(resources_, kGemmWorkspace + static_cast<std::size_t>(kGroupedArrays) * each);
  void* const workspace = scratch.take_bytes(kGemmWorkspace);
  const auto take = [&](auto*& to) {
    to = static_cast<std::remove_reference_t<decltype(to)>>(scratch.take_bytes(each));
  };
  GroupedArrays arrays{};
  take(arrays.m);
  take(arrays.n);
  take(arrays.k);
  take(arrays.ld_first);
  take(arrays.ld_second);
  take(arrays.ld_result);
  take(arrays.first);
  take(arrays.second);
  take(arrays.result);
  take(arrays.alpha);
  take(arrays.beta);
  take(arrays.factors);
  const Call call(*functions_, shape, arrays);
  auto known = chosen_.find(shape);
  if (known == chosen_.end()) known = chosen_.emplace(shape, call.choose(handle_, shape)).first;
  if (!known->second) {
    note_refusal("cuBLASLt has no grouped product for " + std::to_string(shape.groups) +
                     " groups of " + std::to_string(shape.m) + " x " + std::to_string(shape.n) +
                     " x " + std::to_string(shape.k),
                 "its heuristic found none");
    return false;
  }
  fill_grouped_arrays(resources_, p, arrays);
  check(functions_->multiply(handle_, call.descriptor(), arrays.alpha, arrays.first, call.first,
                             arrays.second, call.second, arrays.beta, arrays.result, call.result,
                             arrays.result, call.result, &*known->second, workspace,
                             kGemmWorkspace, resources_.stream().handle),
        "cublasLtMatmul of groups");
  if (by_depth && !p.accumulate) clear_empty_groups(resources_, p);
  return true;
}

}  // namespace pleat::cuda
