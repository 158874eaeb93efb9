// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/training/train_and_compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <stdexcept>

#include "application/training/earlier_run.hpp"
#include "application/training/run_comparison.hpp"
#include "application/training/training_inputs.hpp"
#include "backend/checkpoint/hf_weights.hpp"
#include "backend/comm/mpi_job.hpp"
#include "console/exit_request.hpp"
#include "console/output.hpp"
#include "console/tables.hpp"
#include "console/write_file.hpp"
#include "core/diagnostics.hpp"
#include "core/environment.hpp"
#include "core/json/json_value.hpp"

namespace pleat {
namespace {

void require_fits(const StepEstimate& e, const ClusterSpec& cluster) {
  if (e.fits) return;
  throw_config_error(
      ExitCode::nothing_fits, "", "memory",
      fmt::format("the plan needs {} a rank, {} has {}", format_bytes(e.peak_bytes()), cluster.name,
                  format_bytes(static_cast<std::int64_t>(cluster.gpu.memory.base()))),
      "`pleat plan` finds plans that fit");
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
    for (const auto value : values)
      hash = (hash ^ static_cast<std::uint32_t>(value)) * 0x100000001b3;
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
  throw ExitRequest(
      static_cast<int>(interrupt ? ExitCode::interrupted : ExitCode::preempted),
      !speaks ? ""
              : fmt::format("stopped by {} after step {} of {}", interrupt ? "SIGINT" : "SIGTERM",
                            result.steps.size(), steps));
}

std::string heading(const Request& request, const ProcessChoice& choice, Seconds predicted_step) {
  return fmt::format("{} on {}, {}\n{}{}\npredicted step {}\n\n", request.target.model.name,
                     request.target.cluster.name, summary(request.plan),
                     assumed_text(request.target.assumed), to_text(choice),
                     format_seconds(predicted_step));
}

// --dry-run: every input has been read and nothing is allocated.
void say_what_would_run(const TrainOptions& o, const Request& request, const RunData& data,
                        const StepEstimate& predicted, const ProcessChoice& choice,
                        TrainConfig& config) {
  const TrainCheckpoints checked(o.checkpoints, request, data, choice.facts.process == 0, config);
  if (choice.facts.process == 0) (void)TrainLog(o.log, request);
  if (!o.trace_file.empty()) (void)only_said(o.trace_file);
  const int world = request.plan.world();
  if (o.json) {
    print(JsonValue::object()
              .set("dry_run", true)
              .set("steps", o.steps)
              .set("ranks", world)
              .set("step_s", predicted.step.base())
              .set("peak_bytes", predicted.peak_bytes())
              .dump() +
          "\n");
    return;
  }
  print(heading(request, choice, predicted.step));
  print(fmt::format("would train {} steps on {} ranks, each with up to {}\n", o.steps, world,
                    format_bytes(predicted.peak_bytes())));
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

void train_and_compare(const TrainOptions& o, Request request) {
  const std::optional<EarlierRun> earlier = earlier_run(o.checkpoints);
  set_losses(o, earlier, request.target.model, request.target.assumed);
  const Program program = compile_request(request);
  const StepEstimate predicted =
      estimate(program, request.target.cluster, request.target.profile);
  require_fits(predicted, request.target.cluster);
  TrainConfig config;
  set_device(o.device, program, config);
  config.steps = o.steps;
  set_optimizer(o.optimizer, o.steps, config);
  config.seed = o.seed;
  const RunData data = set_data(o, program, earlier, config);
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
  if (writes_are_only_said())
    return say_what_would_run(o, request, data, predicted, choice, config);
  if (choice.spread == Spread::spawn) {
    if (const int code = spawn_processes(choice.processes); code != 0) throw ExitRequest(code, "");
    return;
  }
  const bool speaks = choice.facts.process == 0;
  if (!o.json && speaks) {
    print(heading(request, choice, predicted.step));
  }
  std::optional<TrainLog> log;
  if (speaks) log.emplace(o.log, request);
  config.measure_load = true;
  config.on_step = [&](int step, const StepRecord& done) {
    if (!o.json) print(log->line(step, done));
    log->add(step, done);
  };
  const std::string job = fingerprint(request, config, o);
  TrainCheckpoints checkpoints(o.checkpoints, request, data, speaks, config);
  const TrainResult result = train_here(program, config, choice, o, job);
  if (!speaks) return end_early(result, o.steps, false);
  if (result.steps.empty()) {
    note(fmt::format("all {} steps were done before", o.steps));
    return;
  }
  RunComparison c = compare_run(program, predicted, result);
  if (o.device.device == "cuda") {
    const int gpus = usable_gpus() * choice.processes;
    set_device_bytes(c, program, result, o.device, gpus, request.target.profile.device_context);
  }
  // Spans are of the last step that was asked for.
  const bool traced = !o.trace_file.empty() && result.stop == Stop::none;
  if (traced) write_and_say(o.trace_file, write_trace(result.trace));
  print(o.json ? to_json(c, request, result) : "\n" + to_text(c));
  flush_output();
  end_early(result, o.steps, true);
}

}  // namespace pleat
