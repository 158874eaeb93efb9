// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Profiles as files. Quantities are written with as many digits as it takes, so that a profile that
// is written and read again is the same to the bit.
#include "core/spec/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/json/object_reader.hpp"
#include "core/json/parse.hpp"
#include "core/json/text_file.hpp"
#include "core/spec/profile_sections.hpp"

namespace pleat {
namespace {

// In the order of the enums.
const std::vector<std::string> kRuntimeNames{"pleat", "megatron"};
const std::vector<std::string> kKernelNames{
    "gemm",       "grouped_gemm", "attention_fwd", "attention_bwd", "memory_bound", "norm",
    "activation", "loss",         "router",        "permute",       "quantize",     "optimizer",
    "rope",       "head_norm",    "sweep",         "convert",       "dequantize",
    "router_bwd", "embedding"};
constexpr std::size_t kRequiredKernels = 5;  // the others have a stand-in where absent

EfficiencyCurve read_kernel(ObjectReader reader) {
  EfficiencyCurve curve;
  curve.max_efficiency = reader.number("max_efficiency", kFraction);
  curve.half_work = reader.quantity<Flops>("half_work", plausible_range_or_zero<Flops>());
  curve.memory_efficiency = reader.number("memory_efficiency", kFraction);
  curve.fixed = read_delay(reader, "fixed");
  curve.contention = reader.optional_number("contention", {0, 100}).value_or(0);
  curve.source = read_source(reader);
  reader.finish();
  return curve;
}

CollectiveCurve read_collective(ObjectReader reader) {
  CollectiveCurve curve;
  curve.latency = read_delay(reader, "latency");
  curve.latency_per_rank = read_delay(reader, "latency_per_rank");
  curve.efficiency = reader.number("efficiency", kFraction);
  const auto size = plausible_range_or_zero<Bytes>();
  curve.slow_start = reader.optional_quantity<Bytes>("slow_start", size).value_or(Bytes(0));
  curve.small_message = reader.optional_quantity<Bytes>("small_message", size).value_or(Bytes(0));
  curve.source = read_source(reader);
  reader.finish();
  return curve;
}

JsonValue write_kernel(const EfficiencyCurve& curve) {
  JsonValue json = JsonValue::object()
                       .set("max_efficiency", curve.max_efficiency)
                       .set("half_work", exact_text(curve.half_work))
                       .set("memory_efficiency", curve.memory_efficiency)
                       .set("fixed", exact_text(curve.fixed));
  if (curve.contention > 0) json.set("contention", curve.contention);
  return json.set("source", source_name(curve.source));
}

JsonValue write_collective(const CollectiveCurve& curve) {
  JsonValue json = JsonValue::object()
                       .set("latency", exact_text(curve.latency))
                       .set("latency_per_rank", exact_text(curve.latency_per_rank))
                       .set("efficiency", curve.efficiency);
  if (curve.slow_start > Bytes(0)) json.set("slow_start", exact_text(curve.slow_start));
  if (curve.small_message > Bytes(0)) json.set("small_message", exact_text(curve.small_message));
  return json.set("source", source_name(curve.source));
}

std::vector<Era> read_eras(ObjectReader& profile, const RunConstants& base) {
  std::vector<Era> eras;
  auto reader = profile.optional_object("eras");
  if (!reader) return eras;
  for (const JsonMember& member : reader->members()) {
    Era& era = eras.emplace_back(Era{.name = member.key, .run = base});
    ObjectReader overrides = reader->object(member.key);
    read_run_constants(overrides, era.run, false);
    overrides.finish();
  }
  return eras;
}

}  // namespace

Profile for_era(const Profile& profile, const std::string& name) {
  Profile result = profile;
  const auto era = std::ranges::find(profile.eras, name, &Era::name);
  if (era != profile.eras.end()) static_cast<RunConstants&>(result) = era->run;
  return result;
}

void load_tables(Profile& profile, const std::string& profile_path) {
  const std::filesystem::path folder = std::filesystem::path(profile_path).parent_path();
  for (GemmLaw& law : profile.gemm.by_math) {
    if (law.table.empty()) continue;
    const std::string path = (folder / law.table).string();
    law.corrections.pointer =
        std::make_shared<const GemmTable>(parse_gemm_table(read_text_file(path), path));
  }
  if (profile.collective_table.empty()) return;
  const std::string path = (folder / profile.collective_table).string();
  profile.collective_times.pointer =
      std::make_shared<const CollectiveTable>(parse_collective_table(read_text_file(path), path));
}

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
    const std::string& name = kKernelNames[i];
    const bool absent = i >= kRequiredKernels && kernels.find(name) == nullptr;
    profile.kernels[i] = absent ? profile.kernel(stand_in(static_cast<KernelClass>(i)))
                                : read_kernel(kernels.object(name));
  }
  kernels.finish();
  if (reader.array("collectives").empty() && reader.has("collectives")) {
    reader.problem("collectives", "needs at least one tier");
  }
  reader.each_object("collectives", [&](ObjectReader row) {
    auto& curves = profile.collectives.emplace_back();
    for (std::size_t i = 0; i < kCollectives; ++i) {
      curves[i] = read_collective(row.object(kCollectiveNames[i]));
    }
    row.finish();
  });
  if (auto laws = reader.optional_object("gemm")) profile.gemm = read_gemm_laws(*laws);
  profile.attention = read_attention_rates(reader);
  profile.dispatch = read_dispatch_rates(reader);
  profile.collective_table = reader.optional_text("collective_table").value_or("");
  read_run_constants(reader, profile, true);
  profile.eras = read_eras(reader, profile);
  if (auto learned = reader.optional_object("learned")) {
    profile.learned.pointer = std::make_shared<const Learned>(read_learned(*learned));
  }
  profile.sharing_penalty = reader.number("sharing_penalty", {0, 100, true});
  profile.relative_band = reader.number("relative_band", {0, 10});
  profile.device_context = reader.optional_quantity<Bytes>("device_context").value_or(Bytes(0));
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
  JsonValue root = JsonValue::object()
                       .set("schema_version", 1)
                       .set("name", profile.name)
                       .set("cluster", profile.cluster)
                       .set("runtime", name_in(kRuntimeNames, profile.runtime))
                       .set("created", profile.created)
                       .set("provenance", profile.provenance)
                       .set("kernels", std::move(kernels));
  if (!profile.gemm.tiles.empty()) root.set("gemm", write_gemm_laws(profile.gemm));
  JsonValue attention = write_attention_rates(profile.attention);
  if (!attention.items().empty()) root.set("attention", std::move(attention));
  root.set("collectives", std::move(tiers));
  if (!profile.collective_table.empty()) root.set("collective_table", profile.collective_table);
  if (!profile.dispatch.empty()) root.set("dispatch", write_dispatch_rates(profile.dispatch));
  write_run_constants(profile, nullptr, root);
  root.set("sharing_penalty", profile.sharing_penalty).set("relative_band", profile.relative_band);
  if (profile.device_context > Bytes(0))
    root.set("device_context", exact_text(profile.device_context));
  if (!profile.eras.empty()) {
    JsonValue eras = JsonValue::object();
    for (const Era& era : profile.eras) {
      JsonValue overrides = JsonValue::object();
      write_run_constants(era.run, &profile, overrides);
      eras.set(era.name, std::move(overrides));
    }
    root.set("eras", std::move(eras));
  }
  if (profile.learned) root.set("learned", write_learned(*profile.learned));
  return root.dump() + "\n";
}

}  // namespace pleat
