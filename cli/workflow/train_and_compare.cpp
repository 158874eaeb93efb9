// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/workflow/train_and_compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <stdexcept>

#include "backend/checkpoint/hf_weights.hpp"
#include "backend/comm/mpi_job.hpp"
#include "backend/data/text.hpp"
#include "backend/data/training_data.hpp"
#include "cli/early_end.hpp"
#include "cli/interrupt.hpp"
#include "cli/report/output.hpp"
#include "cli/report/tables.hpp"
#include "cli/report/write_file.hpp"
#include "backend/device_memory.hpp"
#include "core/diagnostics.hpp"
#include "core/environment.hpp"
#include "core/json/json_value.hpp"
#include "core/plan/rank_map.hpp"

namespace pleat::cli {
namespace {

struct Comparison {
  StepEstimate predicted;
  Seconds measured;
  std::int64_t measured_bytes = 0, recorded_bytes = 0;
  std::int64_t host_bytes = 0, recorded_host_bytes = 0;  // of a rank
  std::int64_t device_bytes = 0, recorded_device_bytes = 0;  // of a GPU
};

// The bundled backend's machine is the default place, its dialect the only one it runs.
PlanOptions for_this_machine(PlanOptions o) {
  if (o.plan_file.empty() && o.target.cluster.empty()) o.target.cluster = "localhost";
  if (o.target.runtime.empty() && o.target.profile.empty()) o.target.runtime = "pleat";
  return o;
}

// The default place is this machine's CPU.
void require_cluster(const TrainOptions& o) {
  if (o.device.device == "cpu" || !o.plan.plan_file.empty() || !o.plan.target.cluster.empty()) return;
  throw_config_error(ExitCode::bad_request, "--cluster", "",
                     fmt::format("with --device {} it is not said which GPUs these are",
                                 o.device.device),
                     "--cluster h200-sxm, or another of `pleat clusters`");
}

void require_fits(const StepEstimate& e, const ClusterSpec& cluster) {
  if (e.fits) return;
  throw_config_error(
      ExitCode::nothing_fits, "", "memory",
      fmt::format("the plan needs {} a rank, {} has {}", format_bytes(e.peak_bytes()), cluster.name,
                  format_bytes(static_cast<std::int64_t>(cluster.gpu.memory.base()))),
      "`pleat plan` finds plans that fit");
}

std::string relative(double measured, double predicted) {
  return format_percent(predicted / measured - 1);
}

std::string comparison_text(const Comparison& c) {
  Table table{{{"", Align::left}, {"predicted"}, {"measured"}, {"error"}}, {}};
  table.rows.push_back({"step time", format_seconds(c.predicted.step), format_seconds(c.measured),
                        relative(c.measured.base(), c.predicted.step.base())});
  const auto measured = static_cast<double>(c.measured_bytes);
  table.rows.push_back({"peak memory, expected routing", format_bytes(c.predicted.peak_bytes()),
                        format_bytes(c.measured_bytes),
                        relative(measured, static_cast<double>(c.predicted.peak_bytes()))});
  table.rows.push_back({"peak memory, recorded routing", format_bytes(c.recorded_bytes),
                        format_bytes(c.measured_bytes),
                        relative(measured, static_cast<double>(c.recorded_bytes))});
  if (c.host_bytes > 0) {
    table.rows.push_back({"host memory, recorded routing", format_bytes(c.recorded_host_bytes),
                          format_bytes(c.host_bytes),
                          relative(static_cast<double>(c.host_bytes),
                                   static_cast<double>(c.recorded_host_bytes))});
  }
  if (c.device_bytes > 0) {
    table.rows.push_back({"GPU memory, by its driver", format_bytes(c.recorded_device_bytes),
                          format_bytes(c.device_bytes),
                          relative(static_cast<double>(c.device_bytes),
                                   static_cast<double>(c.recorded_device_bytes))});
  }
  return to_text(table);
}

std::string comparison_json(const Comparison& c, const Request& r, const TrainResult& result) {
  JsonValue steps = JsonValue::array();
  for (const StepRecord& s : result.steps) {
    JsonValue step = JsonValue::object();
    step.set("loss", s.loss).set("grad_norm", s.grad_norm).set("seconds", s.seconds);
    if (s.validation_loss) step.set("validation_loss", *s.validation_loss);
    const ExtraLosses& x = s.extra;
    for (const auto& [name, value] : {std::pair{"mtp_loss", x.mtp}, {"aux_loss", x.aux},
                                      {"seq_aux_loss", x.seq_aux}, {"z_loss", x.z}}) {
      if (value > 0) step.set(name, value);
    }
    steps.push_back(step);
  }
  JsonValue predicted = JsonValue::object();
  predicted.set("step_s", c.predicted.step.base())
      .set("peak_bytes", c.predicted.peak_bytes())
      .set("peak_bytes_recorded_routing", c.recorded_bytes);
  JsonValue measured = JsonValue::object();
  measured.set("step_s", c.measured.base()).set("peak_bytes", c.measured_bytes);
  if (c.host_bytes > 0) {
    predicted.set("host_bytes_recorded_routing", c.recorded_host_bytes);
    measured.set("host_bytes", c.host_bytes);
  }
  if (c.device_bytes > 0) {
    predicted.set("device_bytes_recorded_routing", c.recorded_device_bytes);
    measured.set("device_bytes", c.device_bytes);
  }
  JsonValue json = JsonValue::object();
  json.set("model", r.target.model.name)
      .set("plan", summary(r.plan))
      .set("profile", r.target.profile.name)
      .set("predicted", predicted)
      .set("measured", measured)
      .set("steps", steps);
  return json.dump() + "\n";
}

void set_losses(const TrainOptions& o, ModelSpec& m) {
  m.mtp_loss = o.mtp_loss.value_or(m.mtp_loss);
  const bool asked = o.aux_loss || o.seq_aux_loss || o.z_loss;
  if (!m.moe) {
    if (!asked) return;
    throw_config_error(ExitCode::bad_request, "", "--aux-loss, --seq-aux-loss, --z-loss",
                       fmt::format("{} has no router whose loss it could be", m.name),
                       "leave them out, or use a model with experts");
  }
  m.moe->aux_loss = o.aux_loss.value_or(m.moe->aux_loss);
  m.moe->seq_aux_loss = o.seq_aux_loss.value_or(m.moe->seq_aux_loss);
  m.moe->z_loss = o.z_loss.value_or(m.moe->z_loss);
  if (m.moe->expert_bias) m.moe->bias_update = o.bias_update;
}

}  // namespace

std::vector<std::uint8_t> training_text(const std::string& source, const std::string& cache) {
  return source == "bible" ? default_text(cache) : load_text(source);
}

std::int64_t measured_peak(const TrainResult& result) {
  std::int64_t most = 0;
  for (const RankMeasurement& rank : result.ranks) most = std::max(most, rank.peak_live_bytes);
  return most;
}

static std::int64_t most_host_bytes(const TrainResult& result) {
  std::int64_t most = 0;
  for (const RankMeasurement& rank : result.ranks) most = std::max(most, rank.peak_host_bytes);
  return most;
}

static RoutedCount recorded_routing(const RankMeasurement& rank) {
  return [&routed = rank.routed](MicroBatch m, LayerIndex l) {
    const auto found = routed.find({m.value, l.value});
    return found == routed.end() ? Binding{} : found->second;
  };
}

// Of the fullest rank, where each has a GPU for itself: drivers count a GPU's ranks together.
static void set_device_bytes(Comparison& c, const Program& program, const TrainResult& result,
                             const DeviceOptions& o, int gpus, Bytes context) {
  if (program.plan.world() > gpus) return;
  const bool nccl = o.collectives == "nccl";
  const auto held = static_cast<std::int64_t>(context.base());
  for (std::size_t r = 0; r < result.ranks.size(); ++r) {
    const RankMeasurement& rank = result.ranks[r];
    if (rank.device_bytes <= c.device_bytes) continue;
    const Stage stage{attention_coordinates(program.plan, Rank{static_cast<int>(r)}).pp};
    c.device_bytes = rank.device_bytes;
    c.recorded_device_bytes =
        predicted_device_bytes(program, stage, recorded_routing(rank), nccl, o.symmetric_windows,
                               held)
            .total();
  }
}

std::int64_t recorded_peak(const Program& program, const TrainResult& result, bool host) {
  std::int64_t most = 0;
  for (std::size_t r = 0; r < result.ranks.size(); ++r) {
    const int stage = attention_coordinates(program.plan, Rank{static_cast<int>(r)}).pp;
    const RoutedCount count = recorded_routing(result.ranks[r]);
    const StageProgram& of_rank = program.stages[static_cast<std::size_t>(stage)];
    most = std::max(most, host ? peak_host_bytes(of_rank, count) : peak_live_bytes(of_rank, count));
  }
  return most;
}

double median(std::vector<double> values) {
  PLEAT_ASSERT(!values.empty());
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Seconds median_step(const std::vector<StepRecord>& steps) {
  std::vector<double> seconds;
  for (std::size_t i = steps.size() > 1 ? 1 : 0; i < steps.size(); ++i) {
    seconds.push_back(steps[i].seconds);
  }
  return Seconds(median(std::move(seconds)));
}

std::string step_line(int step, const StepRecord& done) {
  return fmt::format("step {:4}   loss {:.4f}   {:.3f} s{}\n", step, done.loss, done.seconds,
                     done.skipped ? "   skipped: gradients are not finite" : "");
}

namespace {

// Samples of the validation share, or all of --valid-data.
Evaluation held_out_data(const TrainOptions& o, const Program& program) {
  const bool asked = o.eval_iters > 0;
  if (!asked && (!o.valid_data.empty() || o.eval_interval > 0)) {
    throw_config_error(ExitCode::bad_request,
                       o.valid_data.empty() ? "--eval-interval" : "--valid-data", "",
                       "how many batches of held-out data to look at is not said", "--eval-iters N");
  }
  if (!asked) return {};
  const bool own = !o.valid_data.empty();
  if (!own && parse_split(o.split)[1] <= 0) {
    throw_config_error(ExitCode::bad_request, "--eval-iters", "",
                       fmt::format("--split {} leaves no data for validation", o.split),
                       "--valid-data FILE, or --split \"969, 30, 1\"");
  }
  TrainingData data = open_training_data(
      {own ? o.valid_data : o.data, o.tokenizer, own ? "1" : o.split, o.eod, cache_directory(),
       program.model.vocab},
      {.split = own ? DataSplit::train : DataSplit::valid,
       .seq_len = program.workload.seq_len,
       .samples = o.eval_iters * program.workload.global_batch,
       .seed = static_cast<std::uint32_t>(o.seed)});
  return {std::move(data.samples), o.eval_interval, o.eval_iters};
}

void set_data(const TrainOptions& o, const Program& program, TrainConfig& config) {
  const std::int64_t taken = o.steps * program.workload.global_batch;
  TrainingData data = open_training_data(
      {o.data, o.tokenizer, o.split, o.eod, cache_directory(), program.model.vocab},
      {.seq_len = program.workload.seq_len,
       .samples = o.order_samples > 0 ? o.order_samples : taken,
       .seed = static_cast<std::uint32_t>(o.seed)});
  if (data.samples->size() < taken) {
    throw_config_error(ExitCode::bad_request, "--order-samples", "",
                       fmt::format("the run takes {} samples, the order has {}", taken, data.samples->size()),
                       fmt::format("--order-samples {}", taken));
  }
  config.data = std::move(data.samples);
  config.evaluation = held_out_data(o, program);
  if (!o.eod_mask_loss) return;
  if (!data.end_of_document) {
    throw_config_error(ExitCode::bad_request, "--eod-mask-loss", "",
                       fmt::format("{} does not say which token ends a document", o.tokenizer), "--eod TOKEN");
  }
  config.packing = {.end_of_document = *data.end_of_document, .mask_loss = true};
}

// Of everything that all processes must have in common; of the data its first and last samples.
std::string fingerprint(const Request& request, const TrainConfig& config, const TrainOptions& o) {
  const std::string plan = write_plan_document(document_of(request, "train"));
  const std::int64_t samples = config.data->size();
  const std::string settings =
      fmt::format("{} {} {} {} {} {} {} {}", config.steps, optimizer_text(config), config.seed,
                  config.forced_routing, o.from, samples, o.eod_mask_loss, joined_text(o.device));
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](const auto& values) {
    for (const auto value : values) hash = (hash ^ static_cast<std::uint32_t>(value)) * 0x100000001b3;
  };
  add(plan), add(settings);
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(config.data->seq_len()) + 1);
  const std::int64_t taken = std::min(samples, o.steps * request.target.workload.global_batch);
  for (const std::int64_t sample : {std::int64_t{0}, taken - 1}) {
    config.data->read(sample, tokens);
    add(tokens);
  }
  return fmt::format("{:016x}", hash);
}

Stop asked_to_stop() {
  const int signal = stop_signal();
  return signal == 0 ? Stop::none : signal == SIGINT ? Stop::interrupt : Stop::terminate;
}

// One of the processes says why.
void end_early(const TrainResult& result, int steps, bool speaks) {
  if (result.stop == Stop::none) return;
  const bool interrupt = result.stop == Stop::interrupt;
  throw EarlyEnd(static_cast<int>(interrupt ? ExitCode::interrupted : ExitCode::preempted),
                 !speaks ? ""
                         : fmt::format("stopped by {} after step {} of {}",
                                       interrupt ? "SIGINT" : "SIGTERM", result.steps.size(), steps));
}

// Joins the job and trains. What goes wrong says which ranks it happened to.
TrainResult train_here(const Program& program, const TrainConfig& config,
                       const ProcessChoice& choice, const TrainOptions& o,
                       const std::string& fingerprint) {
  try {
    JobPart part = join(choice, o.processes, program.plan.world(), fingerprint);
    connect_devices(o.device, part);
    catch_stop_signals();
    return train(program, config, part);
  } catch (const std::runtime_error& e) {
    if (choice.processes == 1) throw;
    throw std::runtime_error(fmt::format("process {}: {}", choice.facts.process, e.what()));
  }
}

}  // namespace

void train_and_compare(const TrainOptions& o) {
  if (!o.trace_file.empty()) require_writable(o.trace_file);
  require_cluster(o);
  PlanOptions asked = for_this_machine(o.plan);
  if (!o.from.empty() && asked.target.model.empty() && asked.plan_file.empty()) {
    asked.target.model = o.from + "/config.json";
  }
  Request request = resolve_request(asked);
  set_losses(o, request.target.model);
  const Program program = compile_request(request);
  Comparison c;
  c.predicted = estimate(program, request.target.cluster, request.target.profile);
  require_fits(c.predicted, request.target.cluster);
  TrainConfig config;
  set_device(o.device, program, config);
  config.steps = o.steps;
  set_optimizer(o.optimizer, o.steps, config);
  config.seed = o.seed;
  set_data(o, program, config);
  config.forced_routing = o.forced_routing;
  config.trace = !o.trace_file.empty();
  std::optional<HfWeights> weights;
  if (!o.from.empty()) {
    weights.emplace(o.from, request.target.model);
    config.read_weight = [&weights](const std::string& name, std::span<float> values) {
      weights->read(name, values);
    };
  }
  config.stop_requested = asked_to_stop;
  config.stall_seconds = o.processes.stall_seconds;
  const ProcessChoice choice =
      choose_processes(o.processes, process_facts(o.processes.flags, environment_variable),
                       program.plan.world(), has_mpi());
  if (choice.spread == Spread::spawn) {
    if (const int code = spawn_processes(choice.processes); code != 0) throw EarlyEnd(code, "");
    return;
  }
  const bool speaks = choice.facts.process == 0;
  if (!o.json && speaks) {
    print(fmt::format("{} on {}, {}\n{}{}\npredicted step {}\n\n", request.target.model.name,
                      request.target.cluster.name, summary(request.plan),
                      assumed_text(request.target.assumed), to_text(choice),
                      format_seconds(c.predicted.step)));
  }
  std::optional<TrainLog> log;
  if (speaks) log.emplace(o.log, request);
  config.measure_load = true;
  config.on_step = [&](int step, const StepRecord& done) {
    if (!o.json) print(log->line(step, done));
    log->add(step, done);
  };
  const std::string job = fingerprint(request, config, o);
  TrainCheckpoints checkpoints(o.checkpoints, request, speaks, config);
  const TrainResult result = train_here(program, config, choice, o, job);
  if (!speaks) return end_early(result, o.steps, false);
  if (result.steps.empty()) {
    note(fmt::format("all {} steps were done before", o.steps));
    return;
  }
  c.measured = median_step(result.steps);
  c.measured_bytes = measured_peak(result);
  c.recorded_bytes = recorded_peak(program, result);
  c.host_bytes = most_host_bytes(result);
  if (o.device.device == "cuda") {
    const int gpus = usable_gpus() * choice.processes;
    set_device_bytes(c, program, result, o.device, gpus, request.target.profile.device_context);
  }
  c.recorded_host_bytes = recorded_peak(program, result, true);
  // Spans are of the last step that was asked for.
  const bool traced = !o.trace_file.empty() && result.stop == Stop::none;
  if (traced) write_file(o.trace_file, write_trace(result.trace));
  print(o.json ? comparison_json(c, request, result) : "\n" + comparison_text(c));
  flush_output();
  end_early(result, o.steps, true);
}

}  // namespace pleat::cli
