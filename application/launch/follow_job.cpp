// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/launch/follow_job.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "application/exchange/watch.hpp"
#include "application/launch/slurm_job.hpp"
#include "console/exit_request.hpp"
#include "console/output.hpp"
#include "core/diagnostics.hpp"

namespace pleat {
namespace {

constexpr double kMissingSeconds = 120;  // Slurm may not answer for so long

// Nothing while there is no step in the log.
std::optional<WatchReport> look_at(const std::string& log, const std::string& plan) {
  std::error_code ignored;
  if (log.empty() || !std::filesystem::exists(log, ignored)) return std::nullopt;
  try {
    return watch_run({.log = log, .plan = plan});
  } catch (const ConfigError& e) {
    if (e.exit_code() == ExitCode::bad_file && e.diagnostics().front().where == log)
      return std::nullopt;
    throw;
  }
}

}  // namespace

void follow_slurm_job(const std::string& job, const std::string& plan_file, double seconds) {
  catch_interrupts();
  std::string said, log;
  std::int64_t step = -1;
  bool warned = false;
  double missing = 0;
  for (;;) {
    const SlurmState s = slurm_state(job);
    missing = s.state == "UNKNOWN" ? missing + seconds : 0;
    if (!s.log.empty()) log = s.log;
    const auto say_state = [&] {
      const bool has_reason = !s.reason.empty() && s.reason != "None";
      const std::string now = s.state + (has_reason ? ", " + s.reason : "");
      if (now != said) print(fmt::format("job {}: {}\n", job, now));
      said = now;
    };
    if (!s.is_over()) say_state();
    if (const auto report = look_at(log, plan_file); report && report->step != step) {
      step = report->step;
      print(watch_line(*report));
      if (!warned && report->verdict() == WatchReport::Verdict::slower && report->used >= 10) {
        note(
            fmt::format("warning: job {} is slower than its prediction's band; pleat watch {} "
                        "--plan {} says more",
                        job, log, plan_file));
        warned = true;
      }
    }
    if (s.is_over()) say_state();  // after its last step
    flush_output();
    if (s.is_over()) {
      if (s.state == "COMPLETED") return;
      throw_config_error(ExitCode::device_or_io, "job " + job, "", fmt::format("ended as {}", said),
                         log.empty() ? "" : "its output: " + log);
    }
    if (missing > kMissingSeconds) {
      throw_config_error(ExitCode::device_or_io, "job " + job, "",
                         "Slurm has not answered for two minutes", "squeue -j " + job);
    }
    if (!sleep_unless_interrupted(seconds)) {
      note(fmt::format(
          "job {} goes on; pleat watch {} --plan {} --follow looks at it again, scancel "
          "{} ends it",
          job, log.empty() ? "ITS-LOG" : log, plan_file, job));
      leave_interrupted();
    }
  }
}

}  // namespace pleat
