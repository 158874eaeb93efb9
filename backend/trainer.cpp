// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// One thread a rank. A rank that fails takes the others down with it: they leave their collectives
// and train() throws what the first one threw.
#include "backend/trainer.hpp"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "backend/collect.hpp"
#include "backend/comm/thread_transport.hpp"
#include "backend/executor.hpp"
#include "backend/supported.hpp"

namespace pleat {
namespace {

using Clock = SpanRecorder::Clock;

// What belongs to one rank. Kept until its tensors are collected.
struct RankRun {
  std::unique_ptr<Transport> transport;
  std::unique_ptr<RankContext> context;
  // Ranks meet here between steps, apart from the program's own collectives.
  std::unique_ptr<Communicator> steps;
  std::unique_ptr<KernelSet> kernels;
  std::unique_ptr<Executor> executor;
  std::vector<Span> spans;
  double step_loss = 0;  // of the last step; written between two barriers, read by rank 0
};

class Job {
 public:
  Job(const Program& program, const TrainConfig& config)
      : program_(program),
        config_(config),
        batches_(config.text, program.workload, program.model.vocab, program.plan.attention.dp,
                 program.plan.micro_batch) {
    for (auto& transport : make_thread_transports(program.plan.world())) {
      runs_.emplace_back().transport = std::move(transport);
    }
  }

  TrainResult run() {
    std::vector<std::thread> threads;
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      threads.emplace_back([this, r] { run_guarded(runs_[r]); });
    }
    watch();
    for (std::thread& t : threads) t.join();
    if (error_) std::rethrow_exception(error_);
    finish();
    return std::move(result_);
  }

 private:
  void run_guarded(RankRun& run) {
    try {
      run_rank(run);
    } catch (const std::exception& e) {
      fail(run, std::current_exception(), e.what());
    } catch (...) {
      fail(run, std::current_exception(), "unknown exception");
    }
    const std::lock_guard lock(mutex_);
    ++finished_;
    changed_.notify_all();
  }

  void fail(RankRun& run, std::exception_ptr error, const std::string& reason) {
    {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::move(error);
    }
    run.transport->abort(reason);
  }

  // Waits for all ranks. When no operation finishes for stall_seconds they wait for each other.
  void watch() {
    std::unique_lock lock(mutex_);
    std::int64_t seen = -1;
    while (finished_ < runs_.size()) {
      const std::int64_t now = progress_.load(std::memory_order_relaxed);
      if (now == seen && !error_) {
        const std::string reason = fmt::format(
            "no operation finished for {} s: ranks wait for each other", config_.stall_seconds);
        error_ = std::make_exception_ptr(ExecutionError(reason));
        lock.unlock();
        runs_[0].transport->abort(reason);
        lock.lock();
      }
      seen = now;
      const std::size_t before = finished_;
      changed_.wait_for(lock, std::chrono::duration<double>(config_.stall_seconds),
                        [&] { return finished_ != before; });
      if (finished_ != before) seen = -1;
    }
  }

  void run_rank(RankRun& run) {
    run.context = std::make_unique<RankContext>(program_.plan, *run.transport);
    run.steps =
        run.transport->group(group_members(program_.plan, run.context->rank(), Group::world));
    run.kernels = cpu_kernels();
    run.executor = std::make_unique<Executor>(program_, config_, *run.context, batches_,
                                              *run.kernels, progress_);
    for (int step = 0; step < config_.steps; ++step) run_step(run, step);
  }

  void run_step(RankRun& run, int step) {
    Communicator& world = *run.steps;
    const bool first_rank = run.context->rank().value == 0;
    if (first_rank) origin_ = Clock::now();  // read by the others after the barrier
    world.barrier();
    const Clock::time_point begin = Clock::now();
    SpanRecorder recorder(run.context->rank().value, run.context->attention().pp, origin_);
    const bool record = config_.trace && step + 1 == config_.steps;
    run.executor->run_step(step, record ? &recorder : nullptr);
    run.step_loss = run.executor->loss();
    world.barrier();
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (record) run.spans = recorder.spans();
    if (!first_rank) return;
    // The other ranks change their loss only after the next barrier, which waits for this one.
    double loss = 0;
    for (const RankRun& other : runs_) loss += other.step_loss;
    result_.steps.push_back({loss, run.executor->grad_norm(), seconds});
    if (config_.on_step) config_.on_step(step, loss, seconds);
  }

  void finish() {
    double margin = std::numeric_limits<double>::infinity();
    for (RankRun& run : runs_) {
      result_.ranks.push_back({run.executor->peak_live_bytes(), run.executor->routed()});
      margin = std::min(margin, run.executor->min_router_margin());
      if (config_.keep_gradients) {
        const auto stage = static_cast<std::size_t>(run.context->attention().pp);
        collect_tensors(program_.stages[stage], run.context->expert().ep, *run.executor, result_);
      }
    }
    if (margin < std::numeric_limits<double>::infinity()) result_.min_router_margin = margin;
    if (!config_.trace) return;
    Trace& trace = result_.trace;
    trace.kind = "measured";
    trace.model = program_.model.name;
    trace.plan = summary(program_.plan);
    if (!result_.steps.empty()) trace.step_s = result_.steps.back().seconds;
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      trace.peak_bytes = std::max(trace.peak_bytes, result_.ranks[r].peak_live_bytes);
      trace.spans.insert(trace.spans.end(), runs_[r].spans.begin(), runs_[r].spans.end());
    }
  }

  const Program& program_;
  const TrainConfig& config_;
  const Batches batches_;
  std::vector<RankRun> runs_;
  std::atomic<std::int64_t> progress_ = 0;
  Clock::time_point origin_;
  TrainResult result_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t finished_ = 0;  // ranks; guarded by mutex_, as is error_
  std::exception_ptr error_;
};

}  // namespace

TrainResult train(const Program& program, const TrainConfig& config) {
  require_supported(program);
  return Job(program, config).run();
}

}  // namespace pleat
