// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/tune/calibrate_machine.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>

#include "application/processes/devices.hpp"
#include "application/processes/processes.hpp"
#include "backend/comm/mpi_job.hpp"
#include "calibration/cuda_bench.hpp"
#include "calibration/nccl_version.hpp"
#include "console/output.hpp"
#include "console/write_file.hpp"
#include "core/environment.hpp"
#include "core/json/parse.hpp"
#include "core/spec/catalog.hpp"

namespace pleat {
namespace {

constexpr double kGpuPointSeconds = 0.5, kGpuConfidence = 0.01;
constexpr int kCpuPasses = 2;  // some seconds apart: a virtual machine's neighbours come and go
constexpr std::int64_t kGpuCollectiveBytes = std::int64_t{1} << 30U;

std::string samples_file(const std::string& profile_file) {
  std::filesystem::path path(profile_file);
  return path.replace_extension(".samples").string();  // no .json: a folder of profiles is listed
}

std::string raw_file(const std::string& profile_file) {
  std::filesystem::path path(profile_file);
  return path.replace_extension(".raw").string();
}

std::string now_text() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

DeviceOptions device_options(const CalibrateOptions& o) {
  return {.device = o.device,
          .collectives = o.collectives,
          .symmetric_windows = o.symmetric_windows};
}

// Tables lie beside the profile and are named for it.
void write_tables(const std::string& profile_file, CalibrationResult& result) {
  const std::filesystem::path path(profile_file);
  for (GemmLaw& law : result.profile.gemm.by_math) {
    if (law.table.empty()) continue;
    const std::string text = result.tables.at(law.table);
    law.table = path.stem().string() + "-" + law.table;
    write_file((path.parent_path() / law.table).string(), text);
  }
}

// The processes that mpirun started, a GPU each, or this one with a thread for each of its GPUs;
// none: one rank, or threads of the CPU's.
std::unique_ptr<JobPart> job_of(const CalibrateOptions& o, const ProcessFacts& facts, int gpus) {
  const ProcessOptions options;
  if (facts.processes > 1) {
    return std::make_unique<JobPart>(
        join(choose_processes(options, facts, facts.processes, has_mpi()), options, facts.processes,
             "calibrate," + joined_text(device_options(o))));
  }
  return gpus > 1 ? std::make_unique<JobPart>(JobPart::of_threads(gpus)) : nullptr;
}

}  // namespace

CalibrationResult calibrate_to(const ClusterSpec& cluster, int ranks,
                               const std::string& profile_file) {
  return calibrate_to(cluster, CalibrateConfig{.ranks = ranks, .passes = kCpuPasses}, profile_file);
}

CalibrationResult calibrate_to(const ClusterSpec& cluster, CalibrateConfig config,
                               const std::string& profile_file) {
  require_writable(profile_file);
  config.created = now_text();
  config.on_progress = [](const CalibrationProgress& p) { progress(progress_line(p)); };
  CalibrationResult result = calibrate(cluster, config);
  progress("");
  const bool first = config.runner == nullptr || config.runner->has_first();
  if (!first) return result;
  if (result.resumed > 0) {
    note(fmt::format("{} points were measured before ({})", result.resumed, config.log_file));
  }
  for (const std::string& name : result.failed) note("not measured: " + name);
  write_tables(profile_file, result);
  write_file(profile_file, write_profile(result.profile));
  write_file(samples_file(profile_file), samples_json(result));
  if (result.left > 0) {
    note(fmt::format("{} points were left out for want of time: the same command goes on with them",
                     result.left));
  } else if (!config.log_file.empty()) {
    std::filesystem::remove(config.log_file);
  }
  return result;
}

void calibrate_machine(const CalibrateOptions& o) {
  require_nccl_for_windows(device_options(o));
  const ClusterSpec cluster = load_cluster(o.cluster);
  std::string file = o.out_file;
  if (file.empty()) {
    file = fitted_profile_path(cluster.name + "-pleat");
    make_folder(std::filesystem::path(file).parent_path().string());
  }
  if (writes_are_only_said()) {
    require_writable(file);
    note(fmt::format("would measure {} as {} and write {} and {}",
                     o.device == "cuda" ? "this machine's GPUs" : "this machine's cores",
                     cluster.name, file, samples_file(file)));
    return;
  }
  const ProcessFacts facts = process_facts(ProcessOptions{}.flags, environment_variable);
  std::unique_ptr<Bench> bench;
  int gpus = 0;
  CalibrateConfig config{.ranks = o.ranks, .passes = kCpuPasses};
  config.log_file = raw_file(file);
  if (o.device == "cuda") {
    gpus = usable_gpus();
    bench = cuda_bench(facts.process % gpus);
    config.bench = bench.get();
    config.ranks = 1;  // threads' collectives are of the host's memory
    config.passes = 1;
    config.point_seconds = kGpuPointSeconds;
    config.confidence = kGpuConfidence;
    config.collective_bytes = kGpuCollectiveBytes;
    config.sustained_seconds = o.sustained;
    config.overlap = gpu_overlap();
  }
  if (o.point_seconds > 0) config.point_seconds = o.point_seconds;
  config.within_seconds = o.within;
  if (o.within > 0) config.passes = 1;  // what was measured is kept at once
  if (o.within > 0 && facts.processes > 1) {
    throw_config_error(ExitCode::bad_request, "--within", "",
                       fmt::format("{} processes cannot end at a time of their own",
                                   facts.processes),
                       "one process, or --point-seconds");
  }
  const std::unique_ptr<JobPart> part = job_of(o, facts, gpus);
  std::unique_ptr<RankRunner> ranks;
  if (part != nullptr) {
    Devices devices;
    if (o.device == "cuda") {
      connect_devices(device_options(o), *part);
      devices = gpus_of(*part);
      config.collectives = o.collectives;
      config.windows = o.symmetric_windows;
      if (o.collectives == "nccl") config.nccl = nccl_version();
    }
    ranks = job_ranks(part->ranks(), std::move(devices));
    config.runner = ranks.get();
  }
  const CalibrationResult result = calibrate_to(cluster, config, file);
  if (ranks != nullptr && !ranks->has_first()) return;
  note("wrote " + file + " and " + samples_file(file));
  print(o.json ? write_profile(result.profile) : print_residuals(result) + print_windows(result));
}

}  // namespace pleat
