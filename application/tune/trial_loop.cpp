// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/tune/trial_loop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>

#include "application/tune/trial_files.hpp"
#include "application/tune/trial_log.hpp"
#include "application/tune/trial_report.hpp"
#include "application/tune/trial_verdict.hpp"
#include "console/exit_request.hpp"
#include "console/output.hpp"
#include "console/tables.hpp"
#include "core/diagnostics.hpp"
#include "simulator/uncertainty.hpp"

namespace pleat {
namespace {

namespace fs = std::filesystem;

constexpr double kSilentSeconds = 120;  // a scheduler may not answer for so long
constexpr int kFailuresInARow = 3;      // at the beginning: something else is wrong

double unix_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

struct Running {
  Trial trial;
  std::size_t plan = 0;                       // of the pool
  double looked_since = 0, silent_since = 0;  // Unix time; 0: it answers
  double last_step_at = 0;
};

class TrialLoop {
 public:
  // `places` of the file's trials in the pool.
  TrialLoop(const Target& t, const TrialsOptions& o, const TrialPool& pool, TrialStore& store,
            JobRunner& runner, const std::string& file, const std::vector<std::size_t>& places)
      : t_(t),
        o_(o),
        pool_(pool),
        store_(store),
        runner_(runner),
        file_(file),
        begin_(unix_time()),
        used_before_(store.seconds_used()),
        choice_(choice_of(pool, t.profile)) {
    take_up(store_.trials(), places);
  }

  TrialsEnd run() {
    catch_interrupts();
    while (true) {
      start_more();
      if (running_.empty()) break;
      if (!sleep_unless_interrupted(o_.interval)) leave();
      look_at_all();
      store_.set_seconds_used(used());
    }
    progress("");
    store_.set_seconds_used(used());
    std::ranges::sort(over_, {}, &Trial::number);
    return {std::move(over_), why_over_};
  }

 private:
  void say(const std::string& text) const {
    if (o_.json) return;
    progress("");
    print(text);
  }
  [[nodiscard]] double used() const { return used_before_ + unix_time() - begin_; }

  // What the file has: results teach, jobs that run are looked after.
  void take_up(std::vector<Trial> trials, const std::vector<std::size_t>& places) {
    for (std::size_t i = 0; i < trials.size(); ++i) {
      Trial& trial = trials[i];
      ++count_;
      number_ = std::max(number_, trial.number);
      if (trial.state == TrialState::over) {
        settle(trial, places[i]);
        continue;
      }
      const TrialJob job = trial_job(o_, t_, trial.number);
      if (trial.job.empty()) trial.job = runner_.find(job);
      choice_.started(places[i]);
      if (trial.job.empty()) {  // killed before it was handed over
        start(trial, places[i]);
        continue;
      }
      trial.state = TrialState::running;
      store_.put(trial);
      running_.push_back({.trial = trial, .plan = places[i], .looked_since = unix_time()});
    }
    if (count_ > 0) {
      say(fmt::format("{}: {} trial{} so far, {} of them running, {} of the budget used\n", file_,
                      count_, count_ == 1 ? "" : "s", running_.size(),
                      duration_text(used_before_)));
    }
  }

  void settle(const Trial& trial, std::size_t plan) {
    too_large_ += teach(choice_, pool_, trial, plan);
    if (trial.is_measured()) failures_ = -1;  // from now on failures are those of plans
    if (trial.outcome == TrialOutcome::failed && failures_ >= 0) ++failures_;
    over_.push_back(trial);
  }

  // Whether another trial may start; if not, why is kept for the report.
  [[nodiscard]] bool goes_on() {
    why_over_.clear();
    if (count_ >= o_.trials)
      why_over_ = fmt::format("{} of {} trials are done", count_, o_.trials);
    else if (used() >= o_.budget)
      why_over_ = "the budget is used";
    else if (failures_ >= kFailuresInARow)
      why_over_ = fmt::format("the first {} trials failed", failures_);
    return why_over_.empty();
  }

  void start_more() {
    while (static_cast<int>(running_.size()) < o_.parallel && goes_on()) {
      const auto next = choice_.next();
      if (!next) {
        why_over_ = too_large_ > 0 ? fmt::format(
                                         "{} other plans need as much memory as one that ran "
                                         "out of it",
                                         too_large_)
                                   : fmt::format("all {} plans were tried", pool_.plans.size());
        return;
      }
      if (choice_.best() && next->gain < o_.least_gain) {
        why_over_ = fmt::format("no other plan is expected to gain {:.1f}%", 100 * o_.least_gain);
        return;
      }
      const Trial trial = chosen_trial(pool_, *next, ++number_, count_ == 0);
      ++count_;
      choice_.started(next->plan);
      start(trial, next->plan);
    }
  }

  // What cannot be handed over leaves nothing behind.
  void start(Trial trial, std::size_t plan) {
    const std::string folder = trial_folder(o_, trial.number);
    const TrialJob job = trial_job(o_, t_, trial.number);
    store_.put(trial);
    try {
      PlanDocument document = pool_.plans[plan].document;
      document.predicted = PlanPrediction{pool_.plans[plan].seconds, pool_.plans[plan].bytes};
      write_trial_files(o_, t_, trial.number, document);
      trial.job = runner_.start(job);
    } catch (const ConfigError&) {
      store_.remove(trial.number);
      std::error_code ignored;
      fs::remove_all(folder, ignored);
      throw;
    }
    trial.state = TrialState::running;
    store_.put(trial);
    say(fmt::format("trial {}: {}\n  {}\n", trial.number, summary(pool_.plans[plan].document.plan),
                    trial.why));
    running_.push_back({.trial = trial, .plan = plan, .looked_since = unix_time()});
  }

  void look_at_all() {
    std::vector<Running> still;
    std::vector<Running> looked = std::move(running_);
    running_.clear();
    for (Running& r : looked) {
      look_at(r);
      if (r.trial.state == TrialState::over) {
        say(result_line(r.trial));
        settle(r.trial, r.plan);
      } else {
        still.push_back(std::move(r));
      }
    }
    running_ = std::move(still);
  }

  [[nodiscard]] TrialReading reading_of(const Running& r, const TrialJob& job) {
    try {
      return read_trial_log(job.log(), pool_.plans[r.plan].document,
                            trial_plan_file(o_, r.trial.number));
    } catch (const ConfigError& e) {
      if (e.exit_code() != ExitCode::verification) throw;
      runner_.stop(r.trial.job);  // all others would run the same
      store_.remove(r.trial.number);
      throw;
    }
  }

  void look_at(Running& r) {
    Trial& trial = r.trial;
    const TrialJob job = trial_job(o_, t_, trial.number);
    const double now = unix_time();
    if (trial.outcome != TrialOutcome::none) return end(r, trial.outcome, trial.reason);
    const JobLook look = runner_.look(trial.job, job);
    switch (look.phase) {
      case JobLook::Phase::unknown:
        if (r.silent_since == 0) r.silent_since = now;
        if (now - r.silent_since > kSilentSeconds) {
          throw_config_error(ExitCode::device_or_io, "job " + trial.job, "",
                             "Slurm has not answered for two minutes",
                             "the same command again goes on");
        }
        return;
      case JobLook::Phase::waiting:
        r.silent_since = 0;
        if (now - r.looked_since > o_.queue_seconds)
          end(r, TrialOutcome::never_started,
              fmt::format("waited {} in the queue: {}", duration_text(now - r.looked_since),
                          look.why));
        else if (used() > o_.budget)
          end(r, TrialOutcome::never_started,
              "the budget ended before it came to run: " + look.why);
        return;
      case JobLook::Phase::running:
        r.silent_since = 0;
        return look_at_running(r, reading_of(r, job), now);
      case JobLook::Phase::over:
        if (trial.started == 0) trial.started = now;
        return judge(r, look, reading_of(r, job), now);
    }
  }

  void judge(Running& r, const JobLook& look, const TrialReading& reading, double now) {
    take(reading, r.trial);
    const TrialVerdict verdict = judge_ended(look, reading, o_.steps);
    r.trial.outcome = verdict.outcome;
    r.trial.reason = verdict.reason;
    r.trial.state = TrialState::over;
    r.trial.ended = now;
    store_.put(r.trial);
  }

  void take(const TrialReading& reading, Trial& trial) const {
    trial.steps = reading.steps;
    trial.seconds = reading.seconds;
    trial.bytes = reading.bytes;
  }

  void look_at_running(Running& r, const TrialReading& reading, double now) {
    Trial& trial = r.trial;
    const bool is_new = trial.started == 0 || reading.steps != trial.steps;
    if (trial.started == 0) trial.started = now;
    if (r.last_step_at == 0 || reading.steps != trial.steps) r.last_step_at = now;
    take(reading, trial);
    if (is_new) store_.put(trial);
    progress(fmt::format("trial {}: {} of {} steps", trial.number, reading.steps, o_.steps));
    const auto verdict = judge_running(reading, o_.steps,
                                       {.running = now - trial.started,
                                        .since_last_step = now - r.last_step_at,
                                        .limit = o_.trial_seconds,
                                        .best = best_seconds()});
    if (verdict) return end(r, verdict->outcome, verdict->reason);
    if (used() > o_.budget)
      return end(r, TrialOutcome::cut_off,
                 fmt::format("the budget ended after {} of {} steps", reading.steps, o_.steps));
  }

  // Written before the job is stopped: whoever goes on later knows why it was.
  void end(Running& r, TrialOutcome outcome, const std::string& reason) {
    Trial& trial = r.trial;
    trial.outcome = outcome;
    trial.reason = reason;
    store_.put(trial);
    runner_.stop(trial.job);
    trial.state = TrialState::over;
    trial.ended = unix_time();
    store_.put(trial);
  }

  [[nodiscard]] std::optional<double> best_seconds() const {
    std::optional<double> best;
    for (const Trial& t : over_)
      if (t.is_measured()) best = std::min(best.value_or(t.seconds), t.seconds);
    return best;
  }

  [[noreturn]] void leave() {
    progress("");
    store_.set_seconds_used(used());
    for (const Running& r : running_) {
      note(fmt::format("trial {} goes on, {} ends it; the same command again goes on with {}",
                       r.trial.number, runner_.stop_command(r.trial.job), file_));
    }
    flush_output();
    leave_interrupted();
  }

  const Target& t_;
  const TrialsOptions& o_;
  const TrialPool& pool_;
  TrialStore& store_;
  JobRunner& runner_;
  const std::string& file_;
  double begin_, used_before_;
  TrialChoice choice_;
  std::vector<Running> running_;
  std::vector<Trial> over_;
  int count_ = 0, number_ = 0;  // trials so far, the largest number
  int failures_ = 0;            // before the first measurement; -1: there was one
  int too_large_ = 0;
  std::string why_over_;
};

std::string why_of(const TrialChoice::Next& next, bool first) {
  if (first) return "the shortest prediction";
  if (next.gain <= 0) return "the next one by its prediction";
  return fmt::format("expected to gain {:.1f}% on the best so far: {}, +-{:.0f}%", 100 * next.gain,
                     format_seconds(Seconds(next.outlook.seconds)), 100 * next.outlook.deviation);
}

}  // namespace

TrialChoice choice_of(const TrialPool& pool, const Profile& profile) {
  std::vector<RunToLearn> runs;
  for (const PooledPlan& plan : pool.plans) runs.push_back(plan.run);
  return TrialChoice(profile, std::move(runs));
}

Trial chosen_trial(const TrialPool& pool, const TrialChoice::Next& next, int number, bool first) {
  const PooledPlan& plan = pool.plans[next.plan];
  const double band = kBandDeviations * next.outlook.deviation;
  Trial trial;
  trial.number = number;
  trial.plan = trial_plan_text(plan.document);
  trial.why = why_of(next, first);
  trial.predicted = plan.seconds;
  trial.expected = next.outlook.seconds;
  trial.low = trial.expected * (1 - band);
  trial.high = trial.expected * (1 + band);
  trial.predicted_bytes = plan.bytes;
  return trial;
}

int teach(TrialChoice& choice, const TrialPool& pool, const Trial& trial, std::size_t plan) {
  if (trial.is_measured())
    choice.measured(plan, trial.seconds);
  else
    choice.failed(plan);
  if (trial.outcome != TrialOutcome::out_of_memory) return 0;
  int left_out = 0;
  for (std::size_t i = 0; i < pool.plans.size(); ++i) {
    if (pool.plans[i].bytes < trial.predicted_bytes || !choice.is_open(i)) continue;
    choice.failed(i);
    ++left_out;
  }
  return left_out;
}

TrialsEnd run_trials(const Target& t, const TrialsOptions& o, TrialPool& pool, TrialStore& store,
                     JobRunner& runner, const std::string& trials_file) {
  std::vector<std::size_t> places;  // all of them before the choice is made of the pool
  for (const Trial& trial : store.trials()) places.push_back(place_of(trial, t, pool));
  return TrialLoop(t, o, pool, store, runner, trials_file, places).run();
}

}  // namespace pleat
