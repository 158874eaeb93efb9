// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Profiles as files. Quantities are written with as many digits as it takes, so that a profile that
// is written and read again is the same to the bit.
#include "core/spec/profile.hpp"

#include <fmt/format.h>

#include "core/json/object_reader.hpp"
#include "core/json/parse.hpp"

namespace pleat {
namespace {

// In the order of the enums.
const std::vector<std::string> kRuntimeNames{"pleat", "megatron"};
const std::vector<std::string> kSourceNames{"measured", "interpolated", "fitted", "datasheet"};
const std::vector<std::string> kKernelNames{"gemm", "grouped_gemm", "attention_fwd",
                                            "attention_bwd", "memory_bound"};
const std::vector<std::string> kCollectiveNames{"all_gather", "reduce_scatter", "all_reduce",
                                                "all_to_all", "send_recv"};

template <class Enum>
const std::string& name_in(const std::vector<std::string>& names, Enum value) {
  return names[static_cast<std::size_t>(value)];
}

SourceClass read_source(ObjectReader& reader) {
  return static_cast<SourceClass>(reader.choice("source", kSourceNames));
}

Seconds read_delay(ObjectReader& reader, const std::string& key) {
  return reader.quantity<Seconds>(key, plausible_range_or_zero<Seconds>());
}

EfficiencyCurve read_kernel(ObjectReader reader) {
  EfficiencyCurve curve;
  curve.max_efficiency = reader.number("max_efficiency", kFraction);
  curve.half_work = reader.quantity<Flops>("half_work", plausible_range_or_zero<Flops>());
  curve.memory_efficiency = reader.number("memory_efficiency", kFraction);
  curve.fixed = read_delay(reader, "fixed");
  curve.source = read_source(reader);
  reader.finish();
  return curve;
}

CollectiveCurve read_collective(ObjectReader reader) {
  CollectiveCurve curve;
  curve.latency = read_delay(reader, "latency");
  curve.latency_per_rank = read_delay(reader, "latency_per_rank");
  curve.efficiency = reader.number("efficiency", kFraction);
  curve.source = read_source(reader);
  reader.finish();
  return curve;
}

JsonValue write_kernel(const EfficiencyCurve& curve) {
  return JsonValue::object()
      .set("max_efficiency", curve.max_efficiency)
      .set("half_work", exact_text(curve.half_work))
      .set("memory_efficiency", curve.memory_efficiency)
      .set("fixed", exact_text(curve.fixed))
      .set("source", name_in(kSourceNames, curve.source));
}

JsonValue write_collective(const CollectiveCurve& curve) {
  return JsonValue::object()
      .set("latency", exact_text(curve.latency))
      .set("latency_per_rank", exact_text(curve.latency_per_rank))
      .set("efficiency", curve.efficiency)
      .set("source", name_in(kSourceNames, curve.source));
}

}  // namespace

Profile read_profile(const std::string& text, const std::string& file_name) {
  const JsonValue root = parse_json(text, file_name);
  Diagnostics problems;
  ObjectReader reader(root, "", {file_name, problems});
  Profile profile;
  reader.schema_version(1);
  profile.name = reader.text("name");
  profile.cluster = reader.text("cluster");
  profile.runtime = static_cast<Runtime>(reader.choice("runtime", kRuntimeNames));
  profile.created = reader.optional_text("created").value_or("");
  profile.provenance = reader.text("provenance");
  ObjectReader kernels = reader.object("kernels");
  for (std::size_t i = 0; i < kKernelClasses; ++i) {
    profile.kernels[i] = read_kernel(kernels.object(kKernelNames[i]));
  }
  kernels.finish();
  const JsonValue::Array& tiers = reader.array("collectives");
  if (tiers.empty() && reader.has("collectives")) {
    reader.problem("collectives", "needs at least one tier");
  }
  for (std::size_t tier = 0; tier < tiers.size(); ++tier) {
    ObjectReader row(tiers[tier], fmt::format("collectives[{}]", tier), reader.context());
    auto& curves = profile.collectives.emplace_back();
    for (std::size_t i = 0; i < kCollectives; ++i) {
      curves[i] = read_collective(row.object(kCollectiveNames[i]));
    }
    row.finish();
  }
  profile.host_per_op = read_delay(reader, "host_per_op");
  profile.step_overhead = read_delay(reader, "step_overhead");
  profile.sustained_clock = reader.number("sustained_clock", kFraction);
  profile.sharing_penalty = reader.number("sharing_penalty", {0, 100, true});
  profile.relative_band = reader.number("relative_band", {0, 10});
  reader.finish();
  problems.throw_if_errors();
  return profile;
}

std::string write_profile(const Profile& profile) {
  JsonValue kernels = JsonValue::object();
  for (std::size_t i = 0; i < kKernelClasses; ++i) {
    kernels.set(kKernelNames[i], write_kernel(profile.kernels[i]));
  }
  JsonValue tiers = JsonValue::array();
  for (const auto& curves : profile.collectives) {
    JsonValue row = JsonValue::object();
    for (std::size_t i = 0; i < kCollectives; ++i) {
      row.set(kCollectiveNames[i], write_collective(curves[i]));
    }
    tiers.push_back(std::move(row));
  }
  return JsonValue::object()
             .set("schema_version", 1)
             .set("name", profile.name)
             .set("cluster", profile.cluster)
             .set("runtime", name_in(kRuntimeNames, profile.runtime))
             .set("created", profile.created)
             .set("provenance", profile.provenance)
             .set("kernels", std::move(kernels))
             .set("collectives", std::move(tiers))
             .set("host_per_op", exact_text(profile.host_per_op))
             .set("step_overhead", exact_text(profile.step_overhead))
             .set("sustained_clock", profile.sustained_clock)
             .set("sharing_penalty", profile.sharing_penalty)
             .set("relative_band", profile.relative_band)
             .dump() +
         "\n";
}

}  // namespace pleat
