// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/tune/tune.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "application/target.hpp"
#include "application/training/train_log.hpp"
#include "application/tune/calibrate_machine.hpp"
#include "application/tune/contest.hpp"
#include "application/tune/contest_report.hpp"
#include "application/tune/machine_load.hpp"
#include "backend/data/training_data.hpp"
#include "calibration/compare.hpp"
#include "console/output.hpp"
#include "console/tables.hpp"
#include "console/write_file.hpp"
#include "core/diagnostics.hpp"
#include "core/environment.hpp"
#include "core/json/text_file.hpp"
#include "core/spec/catalog.hpp"
#include "planner/report/what_would_fit.hpp"
#include "planner/search/search.hpp"

namespace pleat {
namespace {

namespace fs = std::filesystem;

constexpr double kTrainSeconds = 40, kSecondsAPlan = 15;
constexpr int kContendersRanked = 1000;
constexpr std::size_t kRows = 16;  // operations in the closing table
constexpr auto kProfileLife = std::chrono::hours(24);

class Tune {
 public:
  explicit Tune(const TuneOptions& o) : o_(o) {}

  void run() {
    prepare();
    calibrate_or_reuse();
    plan();
    train_winner();
    race();
    compare_operations();
    if (o_.json) print(json());
    flush_output();
  }

 private:
  void say(const std::string& text) const {
    if (!o_.json) print(text);
  }
  [[nodiscard]] std::string file(const char* name) const {
    return (fs::path(folder_) / name).string();
  }

  void prepare() {
    target_.model = load_model(o_.model).model;
    target_.cluster = load_cluster("localhost");
    target_.workload = {.seq_len = o_.seq_len, .global_batch = o_.global_batch,
                        .routing = Routing::natural};
    target_.gpus = o_.ranks;
    target_.runtime = Runtime::pleat;
    const std::string cache = cache_directory();
    folder_ = !o_.out.empty() ? o_.out : cache.empty() ? "pleat-tune" : cache + "/tune";
    make_folder(folder_);
    cache_ = cache.empty() ? folder_ : cache;
  }

  [[nodiscard]] bool profile_is_fresh(const std::string& path) const {
    std::error_code error;
    const auto written = fs::last_write_time(path, error);
    return !error && !o_.recalibrate && fs::file_time_type::clock::now() - written < kProfileLife;
  }

  void calibrate_or_reuse() {
    const std::string path = file("profile.json");
    if (profile_is_fresh(path)) {
      target_.profile = read_profile(read_text_file(path), path);
      say(fmt::format("1. calibrate: {} is less than a day old (--recalibrate measures anew)\n\n",
                      path));
      return;
    }
    const CalibrationResult result = calibrate_to(target_.cluster, o_.ranks, path);
    target_.profile = result.profile;
    say(fmt::format("1. calibrate\n{}\n", print_residuals(result)));
  }

  void plan() {
    SearchConfig config;
    config.gpus = o_.ranks;
    config.runtime = Runtime::pleat;
    config.numerics.front().precision = Precision::fp32;
    config.top = kContendersRanked;
    SearchResult result = search(target_, config);
    if (result.best.empty()) {
      throw_config_error(ExitCode::nothing_fits, "", "memory",
                         print_what_would_fit(result, target_.cluster, config, {}));
    }
    const auto runs = [&](const Candidate& c) { return runs_here(target_, c.plan); };
    std::erase_if(result.best, [&](const Candidate& c) { return !runs(c); });
    if (result.best.empty()) {
      throw_config_error(ExitCode::nothing_fits, "", "plan",
                         fmt::format("this backend runs none of the plans for {} on {} ranks",
                                     target_.model.name, o_.ranks));
    }
    contenders_ = o_.plans > 0
                      ? spread_contenders(target_, result.best, static_cast<std::size_t>(o_.plans))
                      : choose_contenders(result.best);
    PlanDocument document = document_of({target_, winner().plan},
                                        "pleat tune, profile " + target_.profile.name);
    document.predicted =
        PlanPrediction{winner().predicted.step.base(), winner().predicted.peak_bytes()};
    write_file(file("plan.json"), write_plan_document(document));
    say(fmt::format("2. plan: {} of {} plans priced in {:.2f} s for {} on {} ranks\n",
                    result.priced, result.enumerated, result.seconds, target_.model.name,
                    o_.ranks));
    for (const Contender& c : contenders_) {
      say(fmt::format("   {:<8} {}  predicted {} ({:.2f}x)\n", c.label, summary(c.plan),
                      format_seconds(c.predicted.step),
                      c.predicted.step / winner().predicted.step));
    }
  }

  [[nodiscard]] TrainConfig train_config() const {
    TrainConfig config;
    config.adamw.lr = o_.lr;
    config.data = data_;
    return config;
  }

  // As many samples as the longest run takes.
  void open_data(int steps) {
    data_ =
        open_training_data({o_.data, o_.tokenizer, o_.split, o_.eod, cache_, target_.model.vocab},
                           {.seq_len = o_.seq_len,
                            .samples = std::max(steps, kMostContestSteps) * o_.global_batch})
            .samples;
  }

  void train_winner() {
    const Program program = compile(target_.model, target_.workload, winner().plan, Runtime::pleat);
    const double affordable = kTrainSeconds / std::max(1e-3, winner().predicted.step.base());
    const int steps =
        o_.steps > 0 ? o_.steps : static_cast<int>(std::clamp(affordable, 20.0, 150.0));
    open_data(steps);
    TrainConfig config = train_config();
    config.steps = steps;
    config.trace = true;
    say(fmt::format("\n3. train the winner, {} steps\n", config.steps));
    const int every = std::max(1, config.steps / 10);
    config.on_step = [&](int step, const StepRecord& done) {
      if (step % every == 0) say("   " + step_line(step, done));
    };
    trained_ = train(program, config);
    const double first = trained_.steps.front().loss, last = trained_.steps.back().loss;
    say(fmt::format("   loss {:.4f} -> {:.4f}\n", first, last));
    if (!(last < first) && config.steps > 1) {
      throw_config_error(
          ExitCode::verification, "", "loss",
          fmt::format("did not fall in {} steps: {:.4f} -> {:.4f}", config.steps, first, last));
    }
    predicted_ = predicted_trace(program, target_.cluster, target_.profile,
                                 static_cast<int>(winner().plan.microbatches(o_.global_batch)));
    write_file(file("measured.json"), write_trace(trained_.trace));
    write_file(file("predicted.json"), write_trace(predicted_));
  }

  void race() {
    ContestConfig config{.train = train_config(), .rounds = o_.rounds};
    if (o_.plans > 0) config.seconds = kSecondsAPlan * o_.plans;
    const MachineLoad load;
    run_contest(target_, config, contenders_);
    others_ = load.of_others();
    const int cores = std::max(1, target_.cluster.shared_cores);
    say(fmt::format("\n4. {}, {} rounds in turns\n{}{}",
                    o_.plans > 0 ? fmt::format("{} plans", contenders_.size())
                                 : "the winner against two losers",
                    o_.rounds, contest_text(contenders_, cores),
                    accuracy_text(contenders_, others_)));
  }

  void compare_operations() {
    say(fmt::format("\n5. operations of the winner's last step, measured and predicted\n{}",
                    print_comparison(compare(trained_.trace, predicted_), kRows)));
    say(fmt::format("\nin {}: profile.json, plan.json, measured.json, predicted.json\n", folder_));
  }

  [[nodiscard]] std::string json() const {
    JsonValue losses = JsonValue::array();
    for (const StepRecord& s : trained_.steps) losses.push_back(s.loss);
    JsonValue document = JsonValue::object();
    document.set("model", target_.model.name)
        .set("ranks", o_.ranks)
        .set("profile", target_.profile.name)
        .set("folder", folder_)
        .set("losses", losses)
        .set("contenders", contest_json(contenders_))
        .set("accuracy", accuracy_json(contenders_, others_))
        .set("operations", comparison_json(compare(trained_.trace, predicted_)));
    return document.dump() + "\n";
  }

  [[nodiscard]] const Contender& winner() const { return contenders_.front(); }

  const TuneOptions& o_;
  Target target_;
  std::string folder_;
  std::string cache_;
  std::shared_ptr<const SampleSource> data_;
  double others_ = 0;  // share of the machine that others had during the race
  std::vector<Contender> contenders_;
  TrainResult trained_;
  Trace predicted_;
};

}  // namespace

void tune(const TuneOptions& o) { Tune(o).run(); }

}  // namespace pleat
