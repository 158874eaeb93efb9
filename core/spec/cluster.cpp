// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Reading a cluster: its GPU by name or inlined, and its interconnect, innermost tier first.
#include "core/spec/cluster.hpp"

#include <fmt/format.h>

#include "core/json/parse.hpp"
#include "core/spec/catalog.hpp"
#include "core/spec/gpu_reader.hpp"

namespace pleat {
namespace {

constexpr IntRange kGpuCount{1, 16'777'216};
constexpr IntRange kTierSize{0, 16'777'216};

GpuSpec read_cluster_gpu(ObjectReader& reader) {
  const JsonValue* gpu = reader.find("gpu");
  if (gpu != nullptr && gpu->is_object()) {
    ObjectReader inlined = reader.object("gpu");
    return read_gpu_object(inlined);
  }
  const std::string name = reader.text("gpu");
  if (gpu == nullptr || gpu->as_string() == nullptr) return {};  // reported by text()
  try {
    return load_gpu(name);
  } catch (const ConfigError& error) {
    for (const Diagnostic& d : error.diagnostics()) {
      const bool in_file = !d.where.empty() && !d.where.starts_with("--");
      reader.problem(
          "gpu",
          (in_file ? d.where + ": " : "") + (d.path.empty() ? "" : d.path + ": ") + d.message,
          d.hint);
    }
    return {};
  }
}

std::vector<NetworkTier> read_tiers(ObjectReader& reader) {
  std::vector<NetworkTier> tiers;
  const std::size_t count = reader.array("tiers").size();
  if (count == 0 && reader.has("tiers")) reader.problem("tiers", "needs at least one tier");
  reader.each_object("tiers", [&](ObjectReader item) {
    NetworkTier tier;
    tier.name = item.text("name");
    tier.size = static_cast<int>(sourced_integer(item, "size", kTierSize));
    tier.bandwidth = sourced_quantity<BytesPerSecond>(item, "bandwidth");
    tier.latency = sourced_quantity<Seconds>(item, "latency");
    item.finish();
    const bool last = tiers.size() + 1 == count;
    if (last && tier.size != 0) {
      item.problem("size", fmt::format("{}: the last tier is unbounded", tier.size), "write 0");
    } else if (!last && !tiers.empty() && tier.size <= tiers.back().size) {
      item.problem("size", fmt::format("{} does not exceed the {} of the tier inside it", tier.size,
                                       tiers.back().size));
    } else if (!last && tier.size < 1) {
      item.problem("size", "only the last tier may be unbounded (0)");
    }
    tiers.push_back(std::move(tier));
  });
  return tiers;
}

int optional_count(ObjectReader& reader, const std::string& key) {
  if (reader.find(key) == nullptr) return 0;
  return static_cast<int>(sourced_integer(reader, key, kGpuCount));
}

template <class Q>
Q optional_sourced(ObjectReader& reader, const std::string& key) {
  return reader.find(key) == nullptr ? Q(0) : sourced_quantity<Q>(reader, key);
}

}  // namespace

const SoftwareFact* ClusterSpec::fact(Software what) const {
  for (const SoftwareFacts* said : {&software, &gpu.software}) {
    if (said->of(what).there) return &said->of(what);
  }
  return nullptr;
}

ClusterSpec read_cluster(const std::string& text, const std::string& file_name) {
  const JsonValue root = parse_json(text, file_name);
  Diagnostics problems;
  ObjectReader reader(root, "", {file_name, problems});
  ClusterSpec cluster;
  reader.schema_version(1);
  cluster.name = reader.text("name");
  cluster.gpu = read_cluster_gpu(reader);
  cluster.gpus_per_node = static_cast<int>(sourced_integer(reader, "gpus_per_node", kGpuCount));
  cluster.host_memory = optional_sourced<Bytes>(reader, "host_memory");
  cluster.host_memory_bandwidth =
      optional_sourced<BytesPerSecond>(reader, "host_memory_bandwidth");
  cluster.max_gpus = optional_count(reader, "max_gpus");
  cluster.tiers = read_tiers(reader);
  cluster.shared_cores = optional_count(reader, "shared_cores");
  cluster.software = read_software(reader);
  reader.optional_text("notes");
  reader.finish();
  problems.throw_if_errors();
  return cluster;
}

}  // namespace pleat
