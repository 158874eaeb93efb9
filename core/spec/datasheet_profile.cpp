// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The profile of a platform nobody has measured: round efficiencies and a band that says so.
#include <algorithm>

#include "core/spec/profile.hpp"

namespace pleat {
namespace {

// Round numbers of the order that measured tables of datacenter GPUs show at large work: 70% of
// peak for GEMM, 80% of memory bandwidth.
EfficiencyCurve gpu_kernel(KernelClass kernel) {
  EfficiencyCurve curve;
  curve.memory_efficiency = 0.8;
  curve.fixed = Seconds(4e-6);
  switch (kernel) {
    case KernelClass::gemm:
      curve.max_efficiency = 0.7;
      curve.half_work = Flops(2e9);
      break;
    case KernelClass::grouped_gemm:
      curve.max_efficiency = 0.6;
      curve.half_work = Flops(8e9);
      break;
    case KernelClass::attention_fwd:
      curve.max_efficiency = 0.6;
      curve.half_work = Flops(4e9);
      break;
    case KernelClass::attention_bwd:
      curve.max_efficiency = 0.5;
      curve.half_work = Flops(8e9);
      break;
    case KernelClass::memory_bound:
    case KernelClass::norm:
    case KernelClass::activation:
    case KernelClass::optimizer:
    case KernelClass::rope:
    case KernelClass::head_norm:
    case KernelClass::sweep:
    case KernelClass::convert:
    case KernelClass::router_bwd:
    case KernelClass::embedding:
      break;
    case KernelClass::dequantize:
    case KernelClass::quantize:
      curve.memory_efficiency = 0.6;
      break;
    case KernelClass::permute:  // rows in no order
      curve.memory_efficiency = 0.5;
      break;
    case KernelClass::loss:  // several passes over the logits
      curve.memory_efficiency = 0.3;
      break;
    case KernelClass::router:  // little data, several small kernels
      curve.memory_efficiency = 0.1;
      curve.fixed = Seconds(12e-6);
      break;
  }
  return curve;
}

// On CPU cores Pleat's backend has plain kernels; a rank reaches its (lower) rate with little work.
EfficiencyCurve cpu_kernel(KernelClass kernel) {
  EfficiencyCurve curve = gpu_kernel(kernel);
  curve.max_efficiency *= 0.6;
  curve.half_work = curve.half_work / 1000;
  curve.fixed = Seconds(1e-6);
  return curve;
}

// Dense products and attention are the libraries' that Megatron has. What moves data reached 0.2 to
// 0.9 of the bandwidth on an H200 (docs/H200.md), around the round numbers. CUTLASS's grouped
// products are for Hopper alone; elsewhere they are kernels of Pleat's own, slower by an
// assumption.
void pleat_on_gpu(Profile& profile) {
  constexpr double kOwnGroups = 0.6;
  for (std::size_t i = 0; i < kKernelClasses; ++i) {
    profile.kernels[i] = gpu_kernel(static_cast<KernelClass>(i));
  }
  profile.kernels[static_cast<std::size_t>(KernelClass::grouped_gemm)].max_efficiency *= kOwnGroups;
}

}  // namespace

Profile datasheet_profile(const std::string& cluster, std::size_t tiers, Runtime runtime) {
  const bool megatron = runtime == Runtime::megatron;
  Profile profile;
  profile.name = cluster + (megatron ? "-megatron-datasheet" : "-pleat-datasheet");
  profile.cluster = cluster;
  profile.runtime = runtime;
  profile.provenance = "datasheet values times round efficiencies; nothing here was measured";
  for (std::size_t i = 0; i < kKernelClasses; ++i) {
    const auto kernel = static_cast<KernelClass>(i);
    profile.kernels[i] = megatron ? gpu_kernel(kernel) : cpu_kernel(kernel);
  }
  for (std::size_t tier = 0; tier < (tiers == 0 ? 1 : tiers); ++tier) {
    CollectiveCurve curve{.latency = Seconds(10e-6),
                          .latency_per_rank = Seconds(0.5e-6),
                          .efficiency = 0.75,
                          .source = SourceClass::datasheet};
    auto& row = profile.collectives.emplace_back();
    row.fill(curve);
    row[static_cast<std::size_t>(Collective::send_recv)].latency_per_rank = Seconds(0);
  }
  profile.host_per_op = megatron ? Seconds(5e-6) : Seconds(1e-6);
  profile.step_overhead = Seconds(5e-3);
  profile.sustained_clock.gemm_bf16 = profile.sustained_clock.gemm_fp8 = 0.9;
  profile.sustained_clock.attention = 0.9;
  profile.relative_band = kDatasheetBand;
  return profile;
}

Profile datasheet_profile(const ClusterSpec& cluster, Runtime runtime) {
  Profile profile = datasheet_profile(cluster.name, cluster.tiers.size(), runtime);
  const GpuSpec& gpu = cluster.gpu;
  if (gpu.datasheet_band > 0) profile.relative_band = gpu.datasheet_band;
  if (runtime == Runtime::pleat) {
    if (cluster.shared_cores == 0) pleat_on_gpu(profile);
    return profile;
  }
  // The round numbers say that large products reach this share of the peak.
  SustainedClock& clock = profile.sustained_clock;
  const double round = profile.kernels[static_cast<std::size_t>(KernelClass::gemm)].max_efficiency;
  const auto clock_for = [&](FlopsPerSecond reached, FlopsPerSecond peak, double usual) {
    return reached > FlopsPerSecond(0) ? std::min(1.0, reached / peak / round) : usual;
  };
  clock.gemm_bf16 = clock_for(gpu.reached_bf16, gpu.peak_bf16, clock.gemm_bf16);
  clock.gemm_fp8 = clock_for(gpu.reached_fp8, gpu.peak_fp8, clock.gemm_fp8);
  clock.attention = std::min(clock.attention, clock.gemm_bf16);
  return profile;
}

}  // namespace pleat
