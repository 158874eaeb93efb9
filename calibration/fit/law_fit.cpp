// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/profile_fit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calibration/fit/attention_fit.hpp"
#include "calibration/fit/family.hpp"
#include "calibration/fit/gemm_fit.hpp"

namespace pleat {
namespace {

constexpr std::ptrdiff_t kLeastProducts = 8;  // for the six constants of a law

struct Recipe {
  GemmMath math;
  DType type;
  const char* family;
  const char* table;
};
constexpr Recipe kRecipes[] = {{GemmMath::bf16, DType::bf16, "gemm", "gemm-bf16.csv"},
                               {GemmMath::fp8, DType::fp8, "gemm fp8 tensor", "gemm-fp8.csv"},
                               {GemmMath::fp8_block, DType::fp8, "gemm fp8 blocks",
                                "gemm-fp8_block.csv"}};

const ProductShape* product_of(const Sample& s, KernelClass kernel) {
  const auto* k = std::get_if<KernelSample>(&s.point);
  if (k == nullptr || k->kernel != kernel || k->threads != 1 || !k->judged.empty()) return nullptr;
  return std::get_if<ProductShape>(&k->shape);
}

class LawFitter {
 public:
  LawFitter(const std::vector<Sample>& samples, const ClusterSpec& cluster, Profile& profile,
            std::vector<Residual>& residuals)
      : samples_(samples), gpu_(cluster.gpu), profile_(profile), residuals_(residuals) {}

  TableTexts run() {
    profile_.gemm.tiles = gemm_tiles(gpu_);
    for (const Recipe& r : kRecipes) fit_dense(r);
    fit_grouped();
    for (const KernelClass pass : {KernelClass::attention_fwd, KernelClass::attention_bwd})
      fit_attention_of(pass);
    return std::move(tables_);
  }

 private:
  template <class Accept>
  [[nodiscard]] Family<ProductPoint> products(std::string name, KernelClass kernel,
                                              Accept accept) const {
    Family<ProductPoint> family{std::move(name)};
    for (const Sample& s : samples_) {
      const ProductShape* shape = product_of(s, kernel);
      if (shape == nullptr || !accept(*shape)) continue;
      family.add(s.name, {*shape, std::get<KernelSample>(s.point).bytes, s.time});
    }
    return family;
  }

  void fit_dense(const Recipe& r) {
    const auto family = products(r.family, KernelClass::gemm,
                                 [&](const ProductShape& s) { return s.math == r.math; });
    const FlopsPerSecond peak = gpu_.peak(r.type);
    if (family.points.empty() || peak <= FlopsPerSecond(0)) return;
    GemmLaws laws = profile_.gemm;
    GemmLaw& law = laws.by_math[static_cast<std::size_t>(r.math)];
    const GemmLaw* like = r.math == GemmMath::bf16 ? nullptr : &profile_.gemm.by_math[0];
    profile_.gemm = fit_family(
        family,
        [&](const auto& seen) {
          law = fit_gemm_law(seen, gpu_, laws.tiles, peak, like);
          law.table = r.table;
          tables_[r.table] = gemm_corrections(seen, gpu_, laws.tiles, law);
          law.corrections.pointer =
              std::make_shared<const GemmTable>(parse_gemm_table(tables_[r.table], r.table));
          return laws;
        },
        [&](const GemmLaws& fitted, const ProductPoint& p) { return predict(fitted, p, gpu_); },
        true, residuals_);
  }

  [[nodiscard]] bool has_law(GemmMath math) const {
    return profile_.gemm.by_math[static_cast<std::size_t>(math)].rate > FlopsPerSecond(0);
  }

  // The constants of one law of grouped products are of both arithmetics.
  void fit_grouped() {
    const auto of_math = [&](const char* name, GemmMath math) {
      return products(name, KernelClass::grouped_gemm, [&, math](const ProductShape& s) {
        return (s.math == math) && (s.even || math != GemmMath::bf16) && has_law(math);
      });
    };
    const Family<ProductPoint> wide = of_math("grouped_gemm", GemmMath::bf16),
                               narrow = of_math("grouped_gemm fp8", GemmMath::fp8);
    std::vector<ProductPoint> seen;
    for (const auto* family : {&wide, &narrow}) {
      const std::vector<bool> out = held_out(family->names);
      for (std::size_t i = 0; i < out.size(); ++i)
        if (!out[i]) seen.push_back(family->points[i]);
    }
    profile_.gemm.grouped = fit_grouped_law(seen, gpu_, profile_.gemm);
    const auto judge = [&](const Family<ProductPoint>& family) {
      if (family.points.empty()) return;
      static_cast<void>(fit_family(
          family, [&](const auto&) { return 0; },
          [&](int, const ProductPoint& p) { return predict(profile_.gemm, p, gpu_); }, true,
          residuals_));
    };
    judge(wide);
    judge(narrow);
    // The simulator shares rows out evenly.
    judge_unseen(products("uneven grouped_gemm", KernelClass::grouped_gemm,
                          [](const ProductShape& s) {
                            return s.math == GemmMath::bf16 && !s.even;
                          }),
                 [&](const ProductPoint& p) { return predict(profile_.gemm, p, gpu_); },
                 residuals_);
  }

  void fit_attention_of(KernelClass pass) {
    Family<AttentionPoint> family{name_of(pass)}, pieces{name_of(pass) + std::string(" of pieces")};
    for (const Sample& s : samples_) {
      const auto* k = std::get_if<KernelSample>(&s.point);
      if (k == nullptr || k->kernel != pass || k->threads != 1 || sees_all_keys(*k)) continue;
      if (const auto* size = std::get_if<AttentionSize>(&k->shape))
        (size->pieces ? pieces : family).add(s.name, {*size, k->flops, k->bytes, s.time});
    }
    if (family.points.empty()) return;
    EfficiencyCurve& curve = profile_.kernels[static_cast<std::size_t>(pass)];
    // No point says at what rate attention that is bound by memory would move its operands.
    curve.memory_efficiency = profile_.kernel(KernelClass::memory_bound).memory_efficiency;
    const AttentionFit fitted = fit_family(
        family,
        [&](const std::vector<AttentionPoint>& seen) { return fit_attention(seen, gpu_, curve); },
        [&](const AttentionFit& fit, const AttentionPoint& p) { return predict(fit, p, gpu_); },
        true, residuals_);
    curve = fitted.curve;
    // The simulator prices a window, and sequences that are packed, by the mean keys of a query.
    if (!fitted.by_layout[0].empty())
      judge_unseen(
          pieces, [&](const AttentionPoint& p) { return predict(fitted, p, gpu_); }, residuals_);
    const std::size_t way = pass == KernelClass::attention_bwd ? 1 : 0;
    for (std::size_t l = 0; l < fitted.by_layout.size(); ++l)
      profile_.attention[l][0][way] = fitted.by_layout[l];
  }

  const std::vector<Sample>& samples_;
  const GpuSpec& gpu_;
  Profile& profile_;
  std::vector<Residual>& residuals_;
  TableTexts tables_;
};

}  // namespace

bool has_laws(const std::vector<Sample>& samples, const ClusterSpec& cluster) {
  const auto products = std::count_if(samples.begin(), samples.end(), [](const Sample& s) {
    const ProductShape* shape = product_of(s, KernelClass::gemm);
    return shape != nullptr && shape->math == GemmMath::bf16;
  });
  return cluster.shared_cores == 0 && cluster.gpu.sms > 0 &&
         cluster.gpu.peak_bf16 > FlopsPerSecond(0) && products >= kLeastProducts;
}

TableTexts fit_laws(const std::vector<Sample>& samples, const ClusterSpec& cluster,
                    Profile& profile, std::vector<Residual>& residuals) {
  return LawFitter(samples, cluster, profile, residuals).run();
}

}  // namespace pleat
