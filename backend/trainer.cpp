// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// One thread a rank of this process. A rank that fails takes the others down with it: they leave
// their collectives and train() throws what the first one threw.
#include "backend/trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#include "backend/rank_run.hpp"
#include "backend/supported.hpp"
#include "core/diagnostics.hpp"

namespace pleat {
namespace {

std::shared_ptr<const SampleSource> samples_of(const TrainConfig& config, std::int64_t seq_len) {
  if (config.data) return config.data;
  return std::make_shared<ConsecutiveBytes>(config.text, seq_len);
}

// The kernels add learned positions by row.
void require_executable(const Program& program, const PackingRules& packing) {
  if (!packing.reset_positions || program.model.learned_positions == 0) return;
  throw_config_error(ExitCode::bad_request, "", "packing",
                     "this backend does not reset learned positions at ends of documents",
                     "packing that keeps positions, or a model with rotary ones");
}

class Share {
 public:
  Share(const Program& program, const TrainConfig& config, const JobPart& part)
      : config_(config),
        peers_(part.peers()),
        batches_(samples_of(config, program.workload.seq_len), program.workload,
                 program.model.vocab, program.plan.attention.dp, program.plan.micro_batch,
                 config.packing, config.first_sample) {
    PLEAT_ASSERT(!part.ranks().empty());
    if (config.evaluation.data) {
      held_out_.emplace(config.evaluation.data, program.workload, program.model.vocab,
                        program.plan.attention.dp, program.plan.micro_batch, config.packing);
    }
    for (const auto& transport : part.ranks()) {
      PLEAT_ASSERT(transport->world() == program.plan.world());
      runs_.push_back(std::make_unique<RankRun>(program, config, batches_,
                                                held_out_ ? &*held_out_ : nullptr, *transport));
    }
  }

  TrainResult run() {
    if (peers_ != nullptr)
      peers_->watch({[this] { return progress(); }, [this] { return where(); }});
    std::vector<std::jthread> threads;
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      try {
        threads.emplace_back([this, r] { run_guarded(r); });
      } catch (const std::system_error& e) {  // the system has no more threads
        not_started(r, e.what());
        break;
      }
    }
    watch();
    for (std::jthread& t : threads) t.join();
    if (peers_ != nullptr) peers_->watch({});
    if (error_) std::rethrow_exception(error_);
    return std::move(result_);
  }

 private:
  void run_guarded(std::size_t r) {
    try {
      TrainResult result = runs_[r]->run();
      if (r == 0) result_ = std::move(result);
    } catch (const std::exception& e) {
      fail(r, std::current_exception(), e.what());
    } catch (...) {
      fail(r, std::current_exception(), "unknown exception");
    }
    const std::lock_guard lock(mutex_);
    ++finished_;
    changed_.notify_all();
  }

  void not_started(std::size_t first, const std::string& reason) {
    const std::string message =
        fmt::format("no thread for rank {} of {}: {}", first, runs_.size(), reason);
    fail(first, std::make_exception_ptr(std::runtime_error(message)), message);
    const std::lock_guard lock(mutex_);
    finished_ += runs_.size() - first;
    changed_.notify_all();
  }

  void fail(std::size_t r, std::exception_ptr error, const std::string& reason) {
    {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::move(error);
    }
    runs_[r]->transport().abort(reason);
  }

  [[nodiscard]] std::int64_t progress() const {
    std::int64_t sum = 0;
    for (const auto& run : runs_) sum += run->progress().finished.load(std::memory_order_relaxed);
    return sum;
  }

  [[nodiscard]] std::vector<RankWhere> where() const {
    std::vector<RankWhere> all;
    for (const auto& run : runs_) {
      all.push_back({run->transport().rank(), where_text(run->progress())});
    }
    return all;
  }

  // Of all processes, those that do not answer included.
  [[nodiscard]] std::string where_everywhere() const {
    constexpr double kAnswerSeconds = 2;
    std::vector<RankWhere> all = where();
    if (peers_ != nullptr) {
      for (RankWhere& w : peers_->where(kAnswerSeconds)) all.push_back(std::move(w));
    }
    std::sort(all.begin(), all.end(),
              [](const RankWhere& a, const RankWhere& b) { return a.rank < b.rank; });
    return where_all(all);
  }

  // Waits for this process's ranks. When no operation of any process finishes for stall_seconds
  // they wait for each other.
  void watch() {
    std::unique_lock lock(mutex_);
    std::int64_t seen = -1;
    while (finished_ < runs_.size()) {
      const std::int64_t now = progress() + (peers_ != nullptr ? peers_->progress() : 0);
      if (now == seen && !error_) {
        lock.unlock();
        const std::string reason = fmt::format("no operation finished for {} s: {}",
                                               config_.stall_seconds, where_everywhere());
        lock.lock();
        if (!error_) error_ = std::make_exception_ptr(ExecutionError(reason));
        lock.unlock();
        runs_[0]->transport().abort(reason);
        lock.lock();
      }
      seen = now;
      const std::size_t before = finished_;
      changed_.wait_for(lock, std::chrono::duration<double>(config_.stall_seconds),
                        [&] { return finished_ != before; });
      if (finished_ != before) seen = -1;
    }
  }

  const TrainConfig& config_;
  Peers* peers_;
  const Batches batches_;
  std::optional<Batches> held_out_;
  std::vector<std::unique_ptr<RankRun>> runs_;
  TrainResult result_;  // of the first rank here
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t finished_ = 0;  // ranks; guarded by mutex_, as is error_
  std::exception_ptr error_;
};

}  // namespace

TrainResult train(const Program& program, const TrainConfig& config, const JobPart& part) {
  require_supported(program, config.captures_graphs);
  require_executable(program, config.packing);
  return Share(program, config, part).run();
}

TrainResult train(const Program& program, const TrainConfig& config) {
  require_supported(program, config.captures_graphs);
  return train(program, config, JobPart::of_threads(program.plan.world()));
}

}  // namespace pleat
