// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/profile_fit.hpp"

#include <fmt/format.h>

#include <map>
#include <string>

#include "calibration/fit/attention_fit.hpp"
#include "calibration/fit/curve_fit.hpp"
#include "calibration/fit/family.hpp"
#include "calibration/fit/gemm_fit.hpp"

namespace pleat {
namespace {

struct OnTier {
  WirePoint wire;
  std::size_t tier = 0;
  Collective kind = Collective::all_gather;
  Seconds time;
};

// Of no threads that share cores: only GPUs' are judged.
void judge_collectives(const std::vector<Sample>& samples, const ClusterSpec& cluster,
                       const Profile& profile, std::vector<Residual>& residuals) {
  std::map<std::string, Family<OnTier>> families;
  for (const Sample& s : samples) {
    const auto* c = std::get_if<CollectiveSample>(&s.point);
    if (c == nullptr || c->judged.empty() || c->windows) continue;
    const std::size_t tier = tier_of(*c, cluster);
    // Without measurements of its own a tier has no curve, or a datasheet's.
    if (tier >= profile.collectives.size()) continue;
    const auto kind = static_cast<std::size_t>(c->collective);
    if (profile.collectives[tier][kind].source != SourceClass::fitted) continue;
    const std::string name =
        fmt::format("{}, {}", family_of(c->collective, tier, cluster), c->judged);
    Family<OnTier>& family = families.try_emplace(name, Family<OnTier>{name}).first->second;
    family.add(s.name, {{c->group, c->wire, s.time}, tier, c->collective, s.time});
  }
  for (const auto& [name, family] : families) {
    judge_unseen(
        family,
        [&](const OnTier& p) {
          const auto& curve = profile.collectives[p.tier][static_cast<std::size_t>(p.kind)];
          return predict(curve, p.wire, cluster.tiers[p.tier].bandwidth);
        },
        residuals);
  }
}

void judge_attention(const std::vector<Sample>& samples, const GpuSpec& gpu, const Profile& profile,
                     KernelClass pass, AttentionLayout layout,
                     std::vector<Residual>& residuals) {
  const std::size_t way = pass == KernelClass::attention_bwd ? 1 : 0;
  AttentionFit fitted{.by_layout = {}, .curve = profile.kernel(pass)};
  for (std::size_t l = 0; l < fitted.by_layout.size(); ++l)
    fitted.by_layout[l] = profile.attention[l][0][way];
  if (fitted.by_layout[static_cast<std::size_t>(layout)].empty()) return;
  const char* const suffix = layout == AttentionLayout::mla ? " of all keys, MLA" : " of all keys";
  Family<AttentionPoint> family{name_of(pass) + std::string(suffix)};
  for (const Sample& s : samples) {
    const auto* k = std::get_if<KernelSample>(&s.point);
    if (k == nullptr || k->kernel != pass || k->threads != 1 || !sees_all_keys(*k)) continue;
    const auto& size = std::get<AttentionSize>(k->shape);
    if (size.layout == layout) family.add(s.name, {size, k->flops, k->bytes, s.time});
  }
  // The simulator prices it by the mean keys of a query.
  judge_unseen(
      family, [&](const AttentionPoint& p) { return predict(fitted, p, gpu); }, residuals);
}

struct JudgedKernel {
  KernelSample sample;
  Seconds time;
};

// As the simulator prices them: products by the law, a norm that quantises as both.
Seconds predict(const KernelSample& k, const Profile& profile, const GpuSpec& gpu) {
  if (const auto* shape = std::get_if<ProductShape>(&k.shape))
    return predict(profile.gemm, ProductPoint{*shape, k.bytes, {}}, gpu);
  const auto by_curve = [&](KernelClass kernel, Bytes bytes) {
    return predict(profile.kernel(kernel), WorkPoint{k.flops, bytes, {}, k.math}, gpu);
  };
  Seconds time = by_curve(k.kernel, k.bytes);
  if (k.norm_bytes > Bytes(0)) time += by_curve(KernelClass::norm, k.norm_bytes);
  return time;
}

void judge_kernels(const std::vector<Sample>& samples, const GpuSpec& gpu, const Profile& profile,
                   std::vector<Residual>& residuals) {
  std::map<std::string, Family<JudgedKernel>> families;
  for (const Sample& s : samples) {
    const auto* k = std::get_if<KernelSample>(&s.point);
    if (k == nullptr || k->judged.empty()) continue;
    const auto* shape = std::get_if<ProductShape>(&k->shape);
    // A product of types for which no law was fitted.
    if (shape != nullptr && profile.gemm.by_math[static_cast<std::size_t>(shape->math)].rate <=
                                FlopsPerSecond(0))
      continue;
    const std::string name = fmt::format("{}, {}", name_of(k->kernel), k->judged);
    families.try_emplace(name, Family<JudgedKernel>{name}).first->second.add(s.name, {*k, s.time});
  }
  for (const auto& [name, family] : families) {
    judge_unseen(
        family, [&](const JudgedKernel& p) { return predict(p.sample, profile, gpu); }, residuals);
  }
}

}  // namespace

bool sees_all_keys(const KernelSample& k) {
  const auto* size = std::get_if<AttentionSize>(&k.shape);
  return size != nullptr && size->all_keys;
}

void judge(const std::vector<Sample>& samples, const ClusterSpec& cluster, const Profile& profile,
           std::vector<Residual>& residuals) {
  judge_collectives(samples, cluster, profile, residuals);
  judge_kernels(samples, cluster.gpu, profile, residuals);
  for (const KernelClass pass : {KernelClass::attention_fwd, KernelClass::attention_bwd}) {
    for (const AttentionLayout layout : {AttentionLayout::gqa, AttentionLayout::mla})
      judge_attention(samples, cluster.gpu, profile, pass, layout, residuals);
  }
}

}  // namespace pleat
