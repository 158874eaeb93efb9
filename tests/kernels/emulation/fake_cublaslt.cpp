// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// cuBLASLt's C interface for grouped products, over the emulated GPU's memory: column-major
// products of bf16, sizes and pointers from arrays. Refuses what a caller left unset.
// PLEAT_FAKE_CUBLASLT says which version it is.
#include <cstring>
#include <map>
#include <vector>

#include "core/numerics/small_float.hpp"
#include "kernels/cuda/grouped_library.hpp"

namespace {

namespace lt = pleat::cuda::lt;
constexpr int kInvalid = 7;

struct Attributes {
  std::map<int, std::vector<std::byte>> values;
  int set(int attribute, const void* from, std::size_t bytes) {
    const auto* const data = static_cast<const std::byte*>(from);
    values[attribute] = {data, data + bytes};
    return lt::kSuccess;
  }
  [[nodiscard]] std::int64_t get(int attribute) const {
    const auto at = values.find(attribute);
    if (at == values.end()) return -1;
    std::int64_t value = 0;
    std::memcpy(&value, at->second.data(), at->second.size());
    return value;
  }
};
struct Layout : Attributes {
  int type = 0, groups = 0;
  const std::int64_t *rows = nullptr, *columns = nullptr, *ld = nullptr;
};

Attributes& attributes(void* of) { return *static_cast<Attributes*>(of); }
Layout& layout(void* of) { return *static_cast<Layout*>(of); }

bool wide(const Layout& l) { return l.get(lt::kShapeWidth) == 1 && l.get(lt::kLdWidth) == 1; }

float bf16_at(const void* data, std::int64_t at) {
  return pleat::to_float(static_cast<const pleat::Bf16*>(data)[at]);
}

}  // namespace

extern "C" {

std::size_t cublasLtGetVersion() { return PLEAT_FAKE_CUBLASLT; }
int cublasLtCreate(void** handle) { return *handle = new int(1), lt::kSuccess; }
int cublasLtDestroy(void* handle) { return delete static_cast<int*>(handle), lt::kSuccess; }
int cublasLtMatmulDescCreate(void** made, int compute, int scale) {
  if (compute != lt::kCompute32 || scale != lt::kFp32) return kInvalid;
  return *made = new Attributes, lt::kSuccess;
}
int cublasLtMatmulDescDestroy(void* d) { return delete &attributes(d), lt::kSuccess; }
int cublasLtMatmulDescSetAttribute(void* d, int attribute, const void* value, std::size_t bytes) {
  return attributes(d).set(attribute, value, bytes);
}
int cublasLtGroupedMatrixLayoutCreate(void** made, int type, int groups, const void* rows,
                                      const void* columns, const void* ld) {
  auto* const l = new Layout;
  l->type = type;
  l->groups = groups;
  l->rows = static_cast<const std::int64_t*>(rows);
  l->columns = static_cast<const std::int64_t*>(columns);
  l->ld = static_cast<const std::int64_t*>(ld);
  return *made = l, lt::kSuccess;
}
int cublasLtMatrixLayoutDestroy(void* l) { return delete &layout(l), lt::kSuccess; }
int cublasLtMatrixLayoutSetAttribute(void* l, int attribute, const void* value, std::size_t bytes) {
  return layout(l).set(attribute, value, bytes);
}
int cublasLtMatmulPreferenceCreate(void** made) { return *made = new Attributes, lt::kSuccess; }
int cublasLtMatmulPreferenceDestroy(void* p) { return delete &attributes(p), lt::kSuccess; }
int cublasLtMatmulPreferenceSetAttribute(void* p, int attribute, const void* value,
                                         std::size_t bytes) {
  // Averages have eight bytes.
  if (attribute >= lt::kAverageDepth && bytes != sizeof(std::int64_t)) return kInvalid;
  return attributes(p).set(attribute, value, bytes);
}
// No kernel for results of 8 columns, as a library has none for some shapes.
int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void* preference, int,
                                   lt::Heuristic* result, int* found) {
  const Attributes& p = attributes(preference);
  *found = 0;
  if (p.get(lt::kMostWorkspace) <= 0 || p.get(lt::kAlignmentD) != 16 ||
      p.get(lt::kAverageColumns) <= 0 || p.get(lt::kAverageDepth) < 0) {
    return kInvalid;
  }
  if (p.get(lt::kAverageRows) == 8) return 15;
  *result = {};
  result->algorithm.data[0] = 42;
  *found = 1;
  return lt::kSuccess;
}
int cublasLtMatmul(void*, void* descriptor, const void* alpha, const void* a, void* a_layout,
                   const void* b, void* b_layout, const void* beta, const void* c, void*, void* d,
                   void* d_layout, const lt::Algorithm* algorithm, void* workspace,
                   std::size_t bytes, void*) {
  const Attributes& op = attributes(descriptor);
  const Layout &la = layout(a_layout), &lb = layout(b_layout), &ld = layout(d_layout);
  if (op.get(lt::kPointerMode) != lt::kPointersOnDevice || op.get(lt::kAlphaStride) != 1 ||
      op.get(lt::kBetaStride) != 1 || !wide(la) || !wide(lb) || !wide(ld) || workspace == nullptr ||
      bytes == 0 || algorithm->data[0] != 42 || c != d) {
    return kInvalid;
  }
  const bool ta = op.get(lt::kTransposeA) == lt::kTransposed;
  const bool tb = op.get(lt::kTransposeB) == lt::kTransposed;
  for (int g = 0; g < ld.groups; ++g) {
    const void* const first = static_cast<const void* const*>(a)[g];
    const void* const second = static_cast<const void* const*>(b)[g];
    void* const result = static_cast<void* const*>(d)[g];
    const std::int64_t m = ld.rows[g], n = ld.columns[g], k = ta ? la.rows[g] : la.columns[g];
    if ((ta ? la.columns[g] : la.rows[g]) != m || (tb ? lb.rows[g] : lb.columns[g]) != n ||
        (tb ? lb.columns[g] : lb.rows[g]) != k) {
      return kInvalid;
    }
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < m; ++i) {
        float sum = 0;
        for (std::int64_t q = 0; q < k; ++q) {
          sum += bf16_at(first, ta ? q + i * la.ld[g] : i + q * la.ld[g]) *
                 bf16_at(second, tb ? j + q * lb.ld[g] : q + j * lb.ld[g]);
        }
        sum *= *static_cast<const float* const*>(alpha)[g];
        const float factor = *static_cast<const float* const*>(beta)[g];
        const std::int64_t at = i + j * ld.ld[g];
        if (ld.type == lt::kFp32) {
          float& to = static_cast<float*>(result)[at];
          to = factor == 0 ? sum : sum + factor * to;
        } else {
          static_cast<pleat::Bf16*>(result)[at] = pleat::to_bf16(sum);
        }
      }
    }
  }
  return lt::kSuccess;
}

}  // extern "C"
