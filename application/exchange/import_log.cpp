// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A Megatron-LM log: what was run, how fast it was, and what the simulator says about it.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "application/exchange/import.hpp"
#include "application/exchange/priced_document.hpp"
#include "console/output.hpp"
#include "console/tables.hpp"
#include "core/diagnostics.hpp"
#include "core/json/json_value.hpp"
#include "core/json/text_file.hpp"
#include "core/spec/catalog.hpp"
#include "interop/judge_flags.hpp"
#include "interop/megatron_import.hpp"
#include "interop/megatron_log.hpp"

namespace pleat {
namespace {

constexpr std::size_t kMaxLogBytes = std::size_t{1} << 30;
constexpr std::size_t kUsualWarmup = 3;  // lines: allocation, autotuning, the first graphs

struct LogReport {
  interop::MegatronLog log;
  interop::LogTimes times;
  std::optional<interop::ImportedRun> run;  // when the log prints its arguments
  std::optional<StepEstimate> predicted;    // when a cluster is known
  std::string profile;
};

std::int64_t measured_peak(const interop::MegatronLog& log) {
  std::int64_t peak = 0;
  for (const auto& [rank, m] : log.memory) peak = std::max(peak, m.max_allocated);
  return peak;
}

void predict_log(const ImportOptions& o, LogReport& r) {
  PlanDocument& d = r.run->document;
  d.cluster = load_cluster(o.cluster).name;
  PricedDocument predicted = price_document(d, o.cluster, o.profile, o.files.front());
  r.profile = std::move(predicted.profile);
  r.predicted = std::move(predicted.estimate);
  d.predicted = PlanPrediction{r.predicted->step.base(), r.predicted->peak_bytes()};
}

std::string percent_off(double predicted, double measured) {
  return format_percent(predicted / measured - 1);
}

std::string text_of(const LogReport& r) {
  std::string text;
  if (r.run) {
    const PlanDocument& d = r.run->document;
    text += fmt::format("{}: {} layers, hidden {}, {} sequences of {} tokens on {} GPUs\n{}\n\n",
                        d.model_name, d.model.layers, d.model.hidden, d.workload.global_batch,
                        d.workload.seq_len, d.gpus, summary(d.plan));
  }
  const interop::LogTimes& t = r.times;
  text += fmt::format("{} iterations ({} more dropped as warm-up), {} to {} each\n", t.used,
                      t.dropped, format_seconds(Seconds(t.fastest_seconds)),
                      format_seconds(Seconds(t.slowest_seconds)));
  Table table{{{"", Align::left}, {"measured"}, {"predicted"}, {"error"}}, {}};
  const auto row = [&](const char* name, std::string measured, std::string predicted,
                       std::string error) {
    table.rows.push_back({name, std::move(measured), std::move(predicted), std::move(error)});
  };
  const bool known = r.predicted.has_value();
  row("step (median)", format_seconds(Seconds(t.median_seconds)),
      known ? format_seconds(r.predicted->step) : "-",
      known ? percent_off(r.predicted->step.base(), t.median_seconds) : "-");
  if (t.median_tflops) {
    row("model TFLOP/s/GPU", fmt::format("{:.1f}", *t.median_tflops),
        known ? fmt::format("{:.1f}", r.predicted->model_flops_per_gpu.base() / 1e12) : "-",
        known ? percent_off(r.predicted->model_flops_per_gpu.base() / 1e12, *t.median_tflops)
              : "-");
  }
  if (const std::int64_t peak = measured_peak(r.log); peak > 0) {
    const auto told = known ? r.predicted->peak_allocated_bytes() : 0;
    row("peak allocated", format_bytes(peak), known ? format_bytes(told) : "-",
        known ? percent_off(static_cast<double>(told), static_cast<double>(peak)) : "-");
  }
  text += to_text(table);
  if (known) {
    text += fmt::format("band {} to {}, profile {}\n", format_seconds(r.predicted->low),
                        format_seconds(r.predicted->high), r.profile);
  }
  return text;
}

std::string json_of(const LogReport& r) {
  const interop::LogTimes& t = r.times;
  JsonValue measured = JsonValue::object();
  measured.set("iterations", t.used)
      .set("dropped", t.dropped)
      .set("step_seconds", t.median_seconds)
      .set("fastest_seconds", t.fastest_seconds)
      .set("slowest_seconds", t.slowest_seconds);
  if (t.median_tflops) measured.set("tflops_per_gpu", *t.median_tflops);
  if (const std::int64_t peak = measured_peak(r.log); peak > 0)
    measured.set("peak_allocated_bytes", peak);
  JsonValue root = JsonValue::object();
  root.set("measured", std::move(measured));
  if (r.predicted) {
    const StepEstimate& e = *r.predicted;
    root.set("predicted", JsonValue::object()
                              .set("profile", r.profile)
                              .set("step_seconds", e.step.base())
                              .set("low_seconds", e.low.base())
                              .set("high_seconds", e.high.base())
                              .set("tflops_per_gpu", e.model_flops_per_gpu.base() / 1e12)
                              .set("peak_allocated_bytes", e.peak_allocated_bytes())
                              .set("error", e.step.base() / t.median_seconds - 1));
  }
  if (r.run) {
    JsonValue ignored = JsonValue::array(), assumed = JsonValue::array();
    for (const std::string& word : r.run->ignored) ignored.push_back(word);
    for (const std::string& word : r.run->assumed) assumed.push_back(word);
    root.set("model", r.run->document.model_name)
        .set("gpus", r.run->document.gpus)
        .set("plan", summary(r.run->document.plan))
        .set("ignored", std::move(ignored))
        .set("assumed", std::move(assumed));
  }
  return root.dump() + "\n";
}

}  // namespace

void import_megatron_log(const ImportOptions& o) {
  check_output(o.output);
  if (o.files.size() != 1)
    throw_config_error(ExitCode::bad_request, o.kind, "", "reads one log", "one file");
  const std::string& path = o.files.front();
  LogReport r;
  r.log = interop::parse_megatron_log(read_text_file(path, kMaxLogBytes));
  const std::size_t lines = r.log.iterations.size();
  const std::size_t usual = std::min(kUsualWarmup, lines > 1 ? lines - 1 : 0);
  r.times =
      interop::log_times(r.log, o.warmup < 0 ? usual : static_cast<std::size_t>(o.warmup), path);
  if (r.log.arguments.empty()) {
    note("the log does not print its arguments: times only");
  } else {
    interop::ImportChoices choices{.gpus = o.gpus, .vocab = o.vocab, .model = {}};
    if (!o.model.empty()) choices.model = load_model(o.model).model;
    r.run = interop::import_arguments(r.log.arguments, choices, path);
    Diagnostics problems;
    for (const std::string& flag :
         judge_unread_log(r.log.arguments, r.run->asked, interop::load_flag_table(),
                          interop::load_unread(interop::kUnreadMegatronFlags), path, problems))
      note("not priced: " + flag);
    problems.throw_if_errors();
    PlanDocument& d = r.run->document;
    d.model_name = o.model.empty() ? (o.name.empty() ? d.model_name : o.name) : d.model.name;
    d.provenance = "pleat import megatron-log " + path;
    for (const std::string& argument : r.run->ignored) note("no counterpart: " + argument);
    for (const std::string& assumption : r.run->assumed) note("assumed: " + assumption);
    if (o.cluster.empty())
      note("--cluster adds a prediction; a log does not name its GPUs");
    else
      predict_log(o, r);
  }
  if (!o.output.file.empty()) {
    if (!r.run || o.cluster.empty()) {
      throw_config_error(ExitCode::bad_request, "--out", "",
                         "a plan file needs the log's arguments and --cluster", "");
    }
    write_output(o.output, o.output.file, write_plan_document(r.run->document));
  }
  print(o.json ? json_of(r) : text_of(r));
}

}  // namespace pleat
