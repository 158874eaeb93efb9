// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Runs a program on the ranks of a job, threads of this process and of others, and measures it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "backend/comm/job_part.hpp"
#include "backend/data/documents.hpp"
#include "backend/data/sample_source.hpp"
#include "backend/optimizer/lr_schedule.hpp"
#include "backend/optimizer/muon_settings.hpp"
#include "core/program/program.hpp"
#include "core/spec/workload.hpp"
#include "core/trace/trace.hpp"
#include "kernels/device.hpp"

namespace pleat {

class Executor;
class RankContext;

// Why training ends before its last step. Every rank stops after the same step.
enum class Stop : int { none, terminate, interrupt };  // SIGTERM, SIGINT

// A rank between two steps.
struct StepBoundary {
  int next_step = 0;       // steps done so far
  Stop stop = Stop::none;  // not none: this is the last boundary
  const RankContext& context;
  Executor& executor;
  Communicator& world;  // all ranks, apart from the program's own collectives
};

// Losses beside the cross entropy, each times its factor, summed over layers
// (core/program/losses.hpp).
struct ExtraLosses {
  double mtp = 0, aux = 0, seq_aux = 0, z = 0;
};

struct StepRecord {
  double loss = 0;  // mean over the global batch's tokens
  double grad_norm = 0;
  double seconds = 0;
  bool skipped = false;  // gradients were not finite: no weight changed
  double lr = 0;
  // Tokens of the busiest expert over the mean, the largest of all layers; 0: not measured.
  double expert_load = 0;
  ExtraLosses extra = {};
  std::optional<double> validation_loss = {};  // after the step, where one was due
  std::vector<ExpertLoads> expert_loads = {};  // tokens; empty: not measured
};

// The loss on data that is not trained on: always of the same first `batches` global batches.
struct Evaluation {
  std::shared_ptr<const SampleSource> data;  // null: none
  int every = 0;                             // steps; 0: after the last one only
  int batches = 1;
};

struct TrainConfig {
  int steps = 1;
  AdamW adamw;  // lr: the schedule's peak; lr and weight_decay are every optimizer's
  LrSchedule schedule;
  bool tables_decay = true;        // weight decay of embeddings; norms and biases have none
  double momentum = 0.9;           // of SGD
  MuonSettings muon;
  double clip_norm = 1.0;          // 0: off
  int max_skipped = 5;             // steps in a row without finite gradients before training stops
  std::uint64_t seed = 1234;       // of the initial weights, the same for every layout
  std::shared_ptr<const SampleSource> data;  // null: consecutive pieces of `text`
  std::vector<std::uint8_t> text;  // its tokens are bytes
  Evaluation evaluation;
  std::int64_t first_sample = 0;   // of the first step: where a resumed run goes on
  PackingRules packing;            // at ends of documents
  bool forced_routing = false;     // experts assigned round robin, probabilities kept
  bool measure_load = false;       // StepRecord::expert_load
  bool measure_margin = true;      // TrainResult::min_router_margin: reads every router's logits
  bool trace = false;              // keep spans of the last step
  bool keep_gradients = false;     // collect full gradients and weights of the last step (tests)
  // The device of each rank, made on its thread; none: the host.
  std::function<std::unique_ptr<Device>(Rank)> make_device;
  bool captures_graphs = false;    // those devices run Plan::cuda_graph
  bool poison = false;             // fill new tensors with NaN (tests)
  // After every step, in the process of rank 0.
  std::function<void(int step, const StepRecord&)> on_step;
  // What a rank has to say that ends nothing, a line; called from every rank's thread.
  std::function<void(Rank, const std::string&)> on_message;
  // Asked after every step in every process; what one says ends all.
  std::function<Stop()> stop_requested;
  // Before the first step, on every rank's thread: restores a state, says how many of `steps` are
  // done.
  std::function<int(const StepBoundary&)> before_first_step;
  // After every step, on every rank's thread: saves.
  std::function<void(const StepBoundary&)> after_step;
  // Gives every initial weight by its global name instead of the seed. Called from every rank's
  // thread; its exceptions end the run.
  std::function<void(const std::string& name, std::span<float> values)> read_weight;
  // Changes an initial weight by its global name (tests). Called from every rank's thread.
  std::function<void(const std::string& name, std::span<float> values)> adjust_weight;
  // Changes a bucket's gradients on one rank, before they are summed over ranks (tests).
  std::function<void(Rank, std::span<float> gradients)> adjust_gradients;
  // Changes this rank's gradients of a bucket before their norm is taken (tests).
  std::function<void(Rank, int step, Bucket, std::span<float> gradients)> change_gradients;
  // Before each operation, on its rank's thread (tests).
  std::function<void(Rank, const Op&, int step)> before_op;
  // After it, with what it wrote: for samples of text, and tests.
  std::function<void(Rank, const Op&, std::span<const View> out)> after_op;
  double stall_seconds = 600;  // no operation finishes for so long: ranks wait for each other
};

struct RankMeasurement {
  std::int64_t peak_live_bytes = 0;  // arena high-water mark, all steps
  std::int64_t peak_host_bytes = 0;  // of what lies in host memory instead
  std::int64_t block_bytes = 0;  // that the arena has for the former (backend/device_memory.hpp)
  std::int64_t device_bytes = 0;  // in use on the rank's GPU after the last step, says its driver
  // Routed tokens in the last step, by microbatch and layer.
  std::map<std::pair<int, int>, Binding> routed;
};

struct TrainResult {
  std::vector<StepRecord> steps;
  Stop stop = Stop::none;  // steps are fewer than asked for if it is not
  // What follows is there in the process of rank 0 only.
  std::vector<RankMeasurement> ranks;
  Trace trace;
  // Full (unsharded) tensors by global name, e.g. "layers.3.experts.5.fc1"; only if asked for.
  std::map<std::string, std::vector<float>> weights, gradients;
  // Of them, "weight/NAME" and "gradient/NAME" of which two ranks hold different bits: a bug.
  std::set<std::string> unequal_copies;
  // Smallest gap between the k-th and (k+1)-th score seen; 0 if no router decided anything.
  double min_router_margin = 0;
};

// Executes `steps` steps of the program on plan.world() threads. Throws ConfigError when the plan
// or the model uses what this backend cannot run yet (backend/supported.hpp), or the data does not
// fit, with exit code diverged after max_skipped steps in a row without finite gradients,
// corruption when such a step gives other bits the second time; ExecutionError
// (backend/execute/executor.hpp) when the program cannot be executed as written, or the ranks wait
// for each other; std::runtime_error when another process failed or was lost.
[[nodiscard]] TrainResult train(const Program&, const TrainConfig&);

// The same for this process's part of a job: one thread for each of its ranks. All processes call
// it with the same program and config.
[[nodiscard]] TrainResult train(const Program&, const TrainConfig&, const JobPart&);

}  // namespace pleat
