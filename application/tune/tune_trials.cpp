// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/tune/tune_trials.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "application/tune/job_runner.hpp"
#include "application/tune/trial_choice.hpp"
#include "application/tune/trial_files.hpp"
#include "application/tune/trial_loop.hpp"
#include "application/tune/trial_pool.hpp"
#include "application/tune/trial_report.hpp"
#include "application/tune/trial_store.hpp"
#include "console/output.hpp"
#include "console/tables.hpp"
#include "console/write_file.hpp"
#include "core/diagnostics.hpp"

namespace pleat {
namespace {

namespace fs = std::filesystem;

TuningFacts facts_of(const Target& t, const TrialsOptions& o) {
  const char* const on = o.on == TuneOn::local    ? "local"
                         : o.on == TuneOn::mpirun ? "mpirun"
                                                  : "slurm";
  PlanDocument d = document_of({t, Plan{}}, "");
  const JsonValue json = plan_document_json(d);
  const JsonValue* const workload = json.find("workload");
  return {{"model", t.model.name},
          {"cluster", t.cluster.name},
          {"gpus", std::to_string(t.gpus)},
          {"sequence length", std::to_string(t.workload.seq_len)},
          {"global batch", std::to_string(t.workload.global_batch)},
          {"runtime", runtime_name(t.runtime)},
          {"runner", on},
          {"script", o.script.empty() ? "Pleat's own" : fs::absolute(o.script).string()},
          {"workload", workload == nullptr ? "" : workload->dump(0)}};
}

class TuneTrials {
 public:
  TuneTrials(const Target& t, const SearchConfig& config, const TrialsOptions& o)
      : t_(t), config_(config), o_(o) {
    file_ = o.trials_file.empty() ? (fs::path(o.out) / "tune.sqlite").string() : o.trials_file;
  }

  void run() {
    require_script();
    // Before the search, which may take minutes.
    if (!o_.dry_run) require_runner();
    known_ = TrialStore::read(file_, facts_of(t_, o_));
    pool_ = find_trial_pool(t_, config_);
    say_pool();
    if (o_.dry_run) return dry_run();
    make_folder(o_.out);
    make_folder(fs::absolute(file_).parent_path().string());
    TrialStore store(file_, facts_of(t_, o_));
    const auto runner = o_.on == TuneOn::slurm ? slurm_jobs() : local_jobs(needs(), store.lock());
    if (t_.profile.learned)
      note("the profile has learned from runs before: trials do not move it further");
    finish(run_trials(t_, o_, pool_, store, *runner, file_));
  }

 private:
  void say(const std::string& text) const {
    if (o_.json) return;
    progress("");
    print(text);
  }
  [[nodiscard]] std::string needs() const {
    if (o_.on == TuneOn::mpirun) return "mpirun";
    return t_.runtime == Runtime::megatron && o_.script.empty() ? "torchrun" : "";
  }
  void require_runner() const {
    if (o_.on == TuneOn::slurm)
      slurm_jobs()->require();
    else
      local_jobs(needs(), -1)->require();
  }

  void require_script() const {
    std::error_code ignored;
    if (o_.script.empty() || fs::is_regular_file(o_.script, ignored)) return;
    throw_config_error(ExitCode::device_or_io, "--script", "", o_.script + " is no file");
  }

  void say_pool() const {
    const PooledPlan& best = pool_.plans.front();
    say(fmt::format(
        "{} of {} plans priced in {:.2f} s for {} on {} x {}; trials are chosen from the "
        "best {}\npredicted best: {}, {} a step ({} to {})\n",
        pool_.priced, pool_.enumerated, pool_.seconds, t_.model.name, t_.gpus, t_.cluster.name,
        pool_.plans.size(), summary(best.document.plan), format_seconds(Seconds(best.seconds)),
        format_seconds(Seconds(best.low)), format_seconds(Seconds(best.high))));
  }

  void finish(const TrialsEnd& end) const {
    const Trial* winner = nullptr;
    bool all_memory = !end.trials.empty();
    for (const Trial& t : end.trials) {
      if (t.is_measured() && (winner == nullptr || t.seconds < winner->seconds)) winner = &t;
      all_memory = all_memory && t.outcome == TrialOutcome::out_of_memory;
    }
    TrialsReport report{.trials = end.trials, .why_over = end.why, .trials_file = file_};
    if (winner != nullptr) report_winner(*winner, report);
    print(o_.json ? trials_json(report).dump() + "\n" : trials_text(report));
    flush_output();
    if (winner == nullptr) {
      throw_config_error(
          all_memory ? ExitCode::nothing_fits : ExitCode::device_or_io, file_, "",
          all_memory ? "every trial ran out of memory" : "no trial could be measured",
          "its trials and their logs in " + o_.out + " say why");
    }
  }

  void report_winner(const Trial& winner, TrialsReport& report) const {
    const std::string file = (fs::path(o_.out) / "winner.json").string();
    PlanDocument d = read_plan_document(winner.plan, file_);
    d.provenance =
        fmt::format("pleat tune, measured {} a step", format_seconds(Seconds(winner.seconds)));
    d.predicted = PlanPrediction{winner.predicted, winner.predicted_bytes};
    write_file(file, write_plan_document(d));
    report.winner = winner.number;
    report.winner_file = file;
    report.command = winner_command(o_, t_, file);
    report.learn_command = "pleat calibrate --from-runs";
    for (const Trial& t : report.trials) {
      if (!t.is_measured()) continue;
      report.learn_command +=
          fmt::format(" {0}/trial-{1:03}/plan.json {0}/trial-{1:03}/log", o_.out, t.number);
    }
    report.learn_command += fmt::format(" --cluster {} -o learned.json", t_.cluster.name);
  }

  // Those of the file, then what would be chosen if every trial took what is expected.
  void dry_run() {
    std::vector<std::size_t> places;
    for (const Trial& trial : known_) places.push_back(place_of(trial, t_, pool_));
    TrialChoice choice = choice_of(pool_, t_.profile);
    int number = 0;
    for (std::size_t i = 0; i < known_.size(); ++i) {
      number = std::max(number, known_[i].number);
      if (known_[i].state == TrialState::over)
        teach(choice, pool_, known_[i], places[i]);
      else
        choice.started(places[i]);
    }
    std::vector<Trial> would;
    while (static_cast<int>(known_.size() + would.size()) < o_.trials) {
      const auto next = choice.next();
      if (!next || (choice.best() && next->gain < o_.least_gain)) break;
      const bool first = number == 0;
      would.push_back(chosen_trial(pool_, *next, ++number, first));
      choice.started(next->plan);
    }
    print(o_.json ? planned_json(known_, would).dump() + "\n" : planned_text(known_, would));
  }

  const Target& t_;
  const SearchConfig& config_;
  const TrialsOptions& o_;
  std::string file_;
  std::vector<Trial> known_;  // of the file, before the search
  TrialPool pool_;
};

}  // namespace

void tune_trials(const Target& t, const SearchConfig& config, const TrialsOptions& o) {
  TuneTrials(t, config, o).run();
}

}  // namespace pleat
