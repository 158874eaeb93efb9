// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Measured collectives into a cluster and a profile of one's own: the shipped ones of a cluster
// like it with its times in their place.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "application/exchange/import.hpp"
#include "console/output.hpp"
#include "console/tables.hpp"
#include "console/write_file.hpp"
#include "core/diagnostics.hpp"
#include "core/json/parse.hpp"
#include "core/json/text_file.hpp"
#include "core/spec/catalog.hpp"
#include "core/spec/profile.hpp"
#include "interop/nccl_tests.hpp"
#include "interop/quoting.hpp"

namespace pleat {
namespace {

namespace fs = std::filesystem;

struct TierRun {
  interop::NcclRun run;
  std::string file;
  std::size_t tier = 0;
  CollectiveCurve curve;
};

// The innermost tier that holds all ranks of a run.
std::size_t tier_of(const interop::NcclRun& run, const ClusterSpec& cluster) {
  for (std::size_t i = 0; i + 1 < cluster.tiers.size(); ++i) {
    const int size = cluster.tiers[i].size;
    if (run.ranks <= size && (run.nodes == 1 || size > cluster.gpus_per_node)) return i;
  }
  return cluster.tiers.size() - 1;
}

std::vector<TierRun> read_nccl_runs(const ImportOptions& o, const ClusterSpec& cluster) {
  std::vector<TierRun> runs;
  for (const std::string& file : o.files) {
    const std::string name =
        o.collective.empty() ? fs::path(file).filename().string() : o.collective;
    TierRun r{interop::parse_nccl_tests(read_text_file(file), file, name, o.ranks), file, 0, {}};
    r.tier = tier_of(r.run, cluster);
    r.curve = interop::fit_collective(r.run, cluster.tiers[r.tier].bandwidth);
    runs.push_back(std::move(r));
  }
  return runs;
}

double best_bus_rate(const interop::NcclRun& run) {
  double best = 0;
  for (const interop::NcclPoint& p : run.points) {
    best = std::max(best, static_cast<double>(p.bytes) *
                              interop::wire_share(run.collective, run.ranks) / p.seconds);
  }
  return best;
}

std::string text_of(const std::vector<TierRun>& runs, const ClusterSpec& cluster) {
  Table table{{{"collective", Align::left},
               {"tier", Align::left},
               {"ranks"},
               {"nodes"},
               {"sizes"},
               {"bus GB/s"},
               {"of the link"},
               {"latency us"},
               {"efficiency"}},
              {}};
  for (const TierRun& r : runs) {
    const double rate = best_bus_rate(r.run);
    table.rows.push_back(
        {name_of(r.run.collective), cluster.tiers[r.tier].name,
         std::to_string(r.run.ranks), std::to_string(r.run.nodes),
         std::to_string(r.run.points.size()), fmt::format("{:.1f}", rate / 1e9),
         fmt::format("{:.0f}%", 100 * rate / cluster.tiers[r.tier].bandwidth.base()),
         fmt::format("{:.1f}", r.curve.latency.base() * 1e6),
         fmt::format("{:.3f}", r.curve.efficiency)});
  }
  return to_text(table);
}

std::string today() {
  const auto days = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  const std::chrono::year_month_day date(days);
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

std::string provenance(const std::vector<TierRun>& runs) {
  std::string text = "nccl-tests:";
  for (const TierRun& r : runs) {
    text += fmt::format(" {} ({}{}{})", fs::path(r.file).filename().string(),
                        r.run.device.empty() ? "device not printed" : r.run.device,
                        r.run.version.empty() ? "" : ", ", r.run.version);
  }
  return interop::one_line(text);
}

std::string cluster_json(const std::string& base, const std::string& name,
                         const std::string& source) {
  const std::string path = config_path(ConfigKind::cluster, base);
  JsonValue root = parse_json(read_text_file(path), path);
  root.set("name", name)
      .set("notes", fmt::format("Links as {}; collectives from {}", base, source));
  return root.dump() + "\n";
}

// The files of one's own cluster, by path below the output folder.
std::vector<std::pair<std::string, std::string>> files_of(const ImportOptions& o,
                                                          const ClusterSpec& cluster,
                                                          const std::vector<TierRun>& runs) {
  const auto found = find_newest_profile(cluster.name, Runtime::megatron);
  const std::string base_path =
      o.profile.empty() ? (found ? found->path : "") : config_path(ConfigKind::profile, o.profile);
  Profile profile = base_path.empty()
                        ? datasheet_profile(cluster, Runtime::megatron)
                        : read_profile(read_text_file(base_path), base_path);
  const std::string source = provenance(runs);
  profile.name = o.name + "-megatron";
  profile.cluster = o.name;
  profile.created = today();
  profile.provenance = fmt::format("Collectives: {}. Otherwise: {}", source, profile.provenance);
  std::vector<interop::NcclRun> inside;
  for (const TierRun& r : runs) {
    while (profile.collectives.size() <= r.tier)
      profile.collectives.push_back(profile.collectives.back());
    profile.collectives[r.tier][static_cast<std::size_t>(r.run.collective)] = r.curve;
    if (r.tier == 0) inside.push_back(r.run);
  }
  std::vector<std::pair<std::string, std::string>> files;
  const std::string csv = interop::collective_csv(inside, source);
  // A table of another machine would come before one's own curves.
  profile.collective_table = csv.empty() ? "" : "tables/" + o.name + "-collectives.csv";
  if (!csv.empty()) files.emplace_back(profile.collective_table, csv);
  const fs::path folder = fs::path(base_path).parent_path();
  for (const GemmLaw& law : profile.gemm.by_math)
    if (!law.table.empty())
      files.emplace_back(law.table, read_text_file((folder / law.table).string()));
  files.emplace_back(o.name + "-megatron.json", write_profile(profile));
  files.emplace_back(o.name + ".json", cluster_json(o.cluster, o.name, source));
  return files;
}

std::string json_of(const std::vector<TierRun>& runs, const ClusterSpec& cluster) {
  JsonValue list = JsonValue::array();
  for (const TierRun& r : runs) {
    list.push_back(JsonValue::object()
                       .set("file", r.file)
                       .set("collective", name_of(r.run.collective))
                       .set("tier", cluster.tiers[r.tier].name)
                       .set("ranks", r.run.ranks)
                       .set("nodes", r.run.nodes)
                       .set("sizes", r.run.points.size())
                       .set("device", r.run.device)
                       .set("bus_bytes_per_second", best_bus_rate(r.run))
                       .set("latency_seconds", r.curve.latency.base())
                       .set("efficiency", r.curve.efficiency)
                       .set("slow_start_bytes", r.curve.slow_start.base()));
  }
  return JsonValue::object().set("runs", std::move(list)).dump() + "\n";
}

}  // namespace

void import_nccl_tests(const ImportOptions& o) {
  if (o.cluster.empty()) {
    throw_config_error(ExitCode::bad_request, "--cluster", "", "is required",
                       "the shipped cluster that is most like the measured one");
  }
  const ClusterSpec cluster = load_cluster(o.cluster);
  const std::vector<TierRun> runs = read_nccl_runs(o, cluster);
  print(o.json ? json_of(runs, cluster) : text_of(runs, cluster));
  if (o.output.file.empty()) return;
  if (!interop::is_plain_name(o.name) || o.name == cluster.name) {
    throw_config_error(ExitCode::bad_request, "--name", "",
                       o.name.empty()
                           ? "is required with --out"
                           : "'" + interop::one_line(o.name) + "' is taken or not a plain name",
                       "letters, digits, dots, dashes and underscores");
  }
  const auto files = files_of(o, cluster, runs);
  const fs::path folder = o.output.file;
  if (!o.output.dry_run) make_folder((folder / "tables").string());
  for (const auto& [file, text] : files)
    if (!o.output.dry_run) check_output(o.output, (folder / file).string());
  for (const auto& [file, text] : files) write_output(o.output, (folder / file).string(), text);
}

}  // namespace pleat
