// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/rank_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>

#include "core/diagnostics.hpp"
#include "core/program/evaluation.hpp"
#include "kernels/host_device.hpp"

namespace pleat {
namespace {

using Clock = SpanRecorder::Clock;

// Tells machines apart whose steady clocks have nothing to do with each other.
std::int64_t machine_number() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return static_cast<std::int64_t>(std::hash<std::string>{}(id));
}

// The moment from which spans count: rank 0's where its clock is this rank's too.
Clock::time_point common_origin(Communicator& world) {
  struct Moment {
    std::int64_t machine, ticks;
  };
  const Clock::time_point now = Clock::now();
  const Moment mine{machine_number(), now.time_since_epoch().count()};
  std::vector<Moment> all(static_cast<std::size_t>(world.size()));
  world.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  if (all.front().machine != mine.machine) return now;
  return Clock::time_point(Clock::duration(all.front().ticks));
}

struct StepEnd {
  Losses losses;
  Stop stop;
  std::int32_t padding;
};

}  // namespace

RankRun::RankRun(const Program& program, const TrainConfig& config, const Batches& batches,
                 const Batches* held_out, Transport& transport)
    : program_(program),
      config_(config),
      batches_(batches),
      held_out_(held_out),
      transport_(transport) {}

TrainResult RankRun::run() {
  device_ = config_.make_device ? config_.make_device(transport_.rank()) : host_device();
  context_ =
      std::make_unique<RankContext>(program_, transport_, device_.get());
  world_ = transport_.group(group_members(program_.plan, context_->rank(), Group::world));
  executor_ =
      std::make_unique<Executor>(program_, config_, *context_, batches_, *device_, progress_);
  if (held_out_ != nullptr) forward_ = evaluation_of(executor_->stage());
  const int first =
      config_.before_first_step
          ? config_.before_first_step({0, Stop::none, *context_, *executor_, *world_})
          : 0;
  for (int step = first; step < config_.steps && result_.stop == Stop::none; ++step) {
    result_.stop = run_step(step);
  }
  gather();
  return std::move(result_);
}

Stop RankRun::run_step(int step) {
  const bool record = config_.trace && step + 1 == config_.steps;
  const Clock::time_point origin = record ? common_origin(*world_) : Clock::time_point();
  world_->barrier();
  const Clock::time_point begin = Clock::now();
  std::optional<SpanRecorder> recorder;
  if (record) recorder.emplace(context_->rank().value, context_->attention().pp, *device_, origin);
  executor_->run_step(step, record ? &*recorder : nullptr);
  if (executor_->skipped()) {
    repeat_skipped(step);
  } else {
    skipped_ = 0;
  }
  const Stop asked = config_.stop_requested ? config_.stop_requested() : Stop::none;
  const StepEnd mine{executor_->losses(), asked, 0};
  std::vector<StepEnd> all(static_cast<std::size_t>(world_->size()));
  world_->all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  progress_.finished.fetch_add(1, std::memory_order_relaxed);
  if (record) spans_ = recorder->spans();
  Losses sums{};
  Stop stop = Stop::none;
  for (const StepEnd& end : all) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += end.losses[i];
    stop = std::max(stop, end.stop);
  }
  StepRecord done{sums[kCrossEntropy], executor_->grad_norm(), seconds, executor_->skipped(),
                  executor_->lr()};
  done.extra = {sums[kMtp], sums[kAux], sums[kSeqAux], sums[kZ]};
  if (config_.measure_load && program_.model.moe) {
    const ModelSpec& model = program_.model;
    // Behind the layers the head has a number, and the prediction layer, with experts, the next.
    done.expert_loads = executor_->expert_load().of_all(
        *world_, model.layers + 1 + model.mtp_layers, model.moe->experts);
    done.expert_load = max_over_mean(done.expert_loads);
  }
  const int every = config_.evaluation.every, steps_done = step + 1;
  if (forward_ && (steps_done == config_.steps || (every > 0 && steps_done % every == 0))) {
    done.validation_loss = evaluate();
  }
  result_.steps.push_back(done);
  if (context_->rank().value == 0 && config_.on_step) config_.on_step(step, done);
  if (config_.after_step) {
    config_.after_step({step + 1, stop, *context_, *executor_, *world_});
  }
  return step + 1 < config_.steps ? stop : Stop::none;
}

// Mean loss of the same batches every time.
double RankRun::evaluate() {
  double sum = 0;
  for (int b = 0; b < config_.evaluation.batches; ++b) {
    const double mine = executor_->evaluate(*forward_, *held_out_, b)[kCrossEntropy];
    std::vector<double> all(static_cast<std::size_t>(world_->size()));
    world_->all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
    for (const double part : all) sum += part;
    progress_.finished.fetch_add(1, std::memory_order_relaxed);
  }
  return sum / config_.evaluation.batches;
}

// A step without finite gradients runs once more on the same weights and data. The same bits again:
// the data or the training is bad, which may pass. Others: a device computes wrongly.
void RankRun::repeat_skipped(int step) {
  struct Bits {
    Losses losses;
    float norm, padding;
  };
  const Bits before{executor_->losses(), executor_->norm_part(), 0};
  executor_->run_step(step, nullptr);
  const Bits after{executor_->losses(), executor_->norm_part(), 0};
  const std::int32_t differs = std::memcmp(&before, &after, sizeof before) != 0 ? 1 : 0;
  std::vector<std::int32_t> all(static_cast<std::size_t>(world_->size()));
  world_->all_gather(std::as_bytes(std::span(&differs, 1)), std::as_writable_bytes(std::span(all)));
  std::vector<int> ranks;
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (all[r] != 0) ranks.push_back(static_cast<int>(r));
  }
  if (!ranks.empty()) {
    throw_config_error(ExitCode::corruption, "", "",
                       fmt::format("step {} gave other bits when it was repeated, on rank {}", step,
                                   fmt::join(ranks, ", ")),
                       "check the devices of these ranks");
  }
  if (++skipped_ < config_.max_skipped) return;
  throw_config_error(ExitCode::diverged, "", "",
                     fmt::format("no finite gradients in {} steps up to step {}", skipped_, step),
                     "an earlier checkpoint with a smaller learning rate, or other data");
}

RankReport RankRun::report() {
  RankReport r;
  r.measured = {executor_->peak_live_bytes(), executor_->peak_host_bytes(),
                executor_->block_bytes(), device_->used_bytes(), executor_->routed()};
  r.router_margin = executor_->min_router_margin();
  r.spans = std::move(spans_);
  if (config_.keep_gradients) r.tensors = rank_tensors(*executor_);
  return r;
}

// One rank after the other, so that rank 0 holds one report at a time.
void RankRun::gather() {
  constexpr int kSize = 0, kReport = 1;  // tags
  if (context_->rank().value != 0) {
    const std::vector<std::byte> bytes = pack(report());
    const std::uint64_t size = bytes.size();
    world_->recv(0, {}, kReport);  // rank 0 is ready for it
    world_->send(0, std::as_bytes(std::span(&size, 1)), kSize);
    world_->send(0, bytes, kReport);
    world_->barrier();
    return;
  }
  add(context_->rank(), report());
  for (int r = 1; r < world_->size(); ++r) {
    std::uint64_t size = 0;
    world_->send(r, {}, kReport);
    world_->recv(r, std::as_writable_bytes(std::span(&size, 1)), kSize);
    std::vector<std::byte> bytes(size);
    world_->recv(r, bytes, kReport);
    add(Rank{r}, unpack(bytes));
    progress_.finished.fetch_add(1, std::memory_order_relaxed);
  }
  if (margin_ < std::numeric_limits<double>::infinity()) result_.min_router_margin = margin_;
  if (config_.trace) {
    Trace& trace = result_.trace;
    trace.kind = "measured";
    trace.model = program_.model.name;
    trace.plan = summary(program_.plan);
    if (!result_.steps.empty()) trace.step_s = result_.steps.back().seconds;
  }
  world_->barrier();  // nobody leaves while another still waits for messages
}

void RankRun::add(Rank rank, RankReport report) {
  result_.trace.peak_bytes = std::max(result_.trace.peak_bytes, report.measured.peak_live_bytes);
  result_.trace.spans.insert(result_.trace.spans.end(), report.spans.begin(), report.spans.end());
  margin_ = std::min(margin_, report.router_margin);
  result_.ranks.push_back(std::move(report.measured));
  if (!config_.keep_gradients) return;
  const auto stage = static_cast<std::size_t>(attention_coordinates(program_.plan, rank).pp);
  collector_.add(program_.stages[stage], weight_rank(program_.plan, rank), report.tensors);
}

}  // namespace pleat
