// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/tune/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "application/learn/runs_to_learn.hpp"
#include "application/tune/trial_choice.hpp"
#include "application/tune/trial_verdict.hpp"
#include "console/output.hpp"
#include "console/tables.hpp"
#include "console/terminal.hpp"
#include "core/diagnostics.hpp"
#include "core/json/text_file.hpp"
#include "planner/search/parallel_rounds.hpp"

namespace pleat {
namespace {

constexpr std::size_t kLeastPlans = 5;
constexpr int kTrialSteps = 10;         // as `pleat tune --on` has them
constexpr std::size_t kMostTrials = 8;  // that the steps of the last column may be enough for

// The least of the first trials; trials that a small group does not have lose nothing.
Regrets regrets_in_order(const std::vector<double>& regrets,
                         const std::vector<std::size_t>& order) {
  Regrets r{};
  double least = regrets[order.front()];
  for (std::size_t i = 0; i < kReplayTrials; ++i) {
    if (i < order.size()) least = std::min(least, regrets[order[i]]);
    r[i] = least;
  }
  return r;
}

// By plan.
struct GroupTimes {
  std::vector<double> measured, regrets;
};

std::vector<std::size_t> chosen_order(const Profile& profile, const std::vector<RunToLearn>& runs) {
  TrialChoice choice(profile, runs);
  std::vector<std::size_t> order;
  while (order.size() < kMostTrials) {
    const auto next = choice.next();
    if (!next) break;
    order.push_back(next->plan);
    choice.measured(next->plan, runs[next->plan].measured);
  }
  return order;
}

// The least regret of the trials that so many steps are enough for.
StepRegrets regrets_of_steps(const GroupTimes& g, const std::vector<std::size_t>& order,
                             bool rungs) {
  StepRegrets out{};
  for (std::size_t column = 0; column < out.size(); ++column) {
    int spent = 0;
    double best = 0, least = g.regrets[order.front()];
    for (const std::size_t i : order) {
      const double seconds = g.measured[i];
      const int steps =
          rungs && best > 0 ? steps_until_stopped(seconds / best, kTrialSteps) : kTrialSteps;
      spent += steps;
      if (spent > kReplaySteps[column]) break;
      best = best > 0 ? std::min(best, seconds) : seconds;
      least = std::min(least, g.regrets[i]);
    }
    out[column] = least;
  }
  return out;
}

double steps_of_first(const GroupTimes& g, const std::vector<std::size_t>& order) {
  double steps = 0, best = 0;
  for (std::size_t n = 0; n < std::min(order.size(), kReplayTrials); ++n) {
    const double seconds = g.measured[order[n]];
    steps += best > 0 ? steps_until_stopped(seconds / best, kTrialSteps) : kTrialSteps;
    best = best > 0 ? std::min(best, seconds) : seconds;
  }
  return steps;
}

struct GroupToReplay {
  ReplayedGroup group;
  const Profile* profile = nullptr;
  std::vector<RunToLearn> runs;
  std::vector<double> predicted;
};

void replay(GroupToReplay& g) {
  std::vector<double> regrets;
  double best = g.runs.front().measured;
  for (const RunToLearn& run : g.runs) best = std::min(best, run.measured);
  for (const RunToLearn& run : g.runs) regrets.push_back(run.measured / best - 1);
  std::vector<std::size_t> order(g.runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return g.predicted[i]; });
  g.group.random = random_regrets(regrets);
  g.group.predicted = regrets_in_order(regrets, order);
  const std::vector<std::size_t> chosen = chosen_order(*g.profile, g.runs);
  g.group.chosen = regrets_in_order(regrets, chosen);
  GroupTimes times{{}, regrets};
  for (const RunToLearn& run : g.runs) times.measured.push_back(run.measured);
  g.group.whole = regrets_of_steps(times, chosen, false);
  g.group.rungs = regrets_of_steps(times, chosen, true);
  g.group.steps = steps_of_first(times, chosen);
}

Replay::Line line_of(const std::vector<ReplayedGroup>& groups, Regrets ReplayedGroup::*member) {
  Replay::Line line;
  for (std::size_t i = 0; i < kReplayTrials; ++i) {
    for (const ReplayedGroup& g : groups) {
      line.mean[i] += (g.*member)[i] / static_cast<double>(groups.size());
      line.worst[i] = std::max(line.worst[i], (g.*member)[i]);
    }
  }
  return line;
}

StepRegrets mean_of(const std::vector<ReplayedGroup>& groups, StepRegrets ReplayedGroup::*member) {
  StepRegrets mean{};
  for (const ReplayedGroup& g : groups)
    for (std::size_t i = 0; i < mean.size(); ++i)
      mean[i] += (g.*member)[i] / static_cast<double>(groups.size());
  return mean;
}

std::string steps_text(const Replay& r) {
  Table table{{{"expected improvement, trials of 10 steps", Align::left}}, {}};
  for (const int steps : kReplaySteps)
    table.columns.push_back({fmt::format("after {} steps", steps)});
  table.columns.push_back({"steps of 5 trials"});
  for (const auto& [name, regrets] :
       {std::pair{"all steps of each", &r.whole}, std::pair{"stopped at a rung", &r.rungs}}) {
    std::vector<std::string> cells{name};
    for (const double v : *regrets) cells.push_back(fmt::format("{:.2f}%", 100 * v));
    cells.push_back(regrets == &r.whole
                        ? fmt::format("{}", kTrialSteps * static_cast<int>(kReplayTrials))
                        : fmt::format("{:.1f}", r.steps));
    table.rows.push_back(std::move(cells));
  }
  return "\n" + to_text(table, terminal().columns);
}

std::string replay_text(const Replay& r) {
  std::size_t plans = 0;
  for (const ReplayedGroup& g : r.groups) plans += g.plans;
  Table table{{{"order of trials", Align::left},
               {"after 1"},
               {"2"},
               {"3"},
               {"4"},
               {"5 trials"},
               {"worst after 1"},
               {"3"},
               {"5"}},
              {}};
  const auto row = [&](const char* name, const Replay::Line& line) {
    std::vector<std::string> cells{name};
    for (const double v : line.mean) cells.push_back(fmt::format("{:.2f}%", 100 * v));
    for (const std::size_t i : {0, 2, 4})
      cells.push_back(fmt::format("{:.1f}%", 100 * line.worst[i]));
    table.rows.push_back(std::move(cells));
  };
  row("random", r.random);
  row("prediction", r.predicted);
  row("expected improvement", r.chosen);
  return fmt::format(
             "{} groups of {} plans and more, {} plans: measured time lost by the best plan tried, "
             "mean over the groups, and the worst group\n\n",
             r.groups.size(), kLeastPlans, plans) +
         to_text(table, terminal().columns) + steps_text(r);
}

template <std::size_t N>
JsonValue regrets_json(const std::array<double, N>& regrets) {
  JsonValue list = JsonValue::array();
  for (const double v : regrets) list.push_back(v);
  return list;
}

JsonValue replay_json(const Replay& r) {
  JsonValue groups = JsonValue::array();
  for (const ReplayedGroup& g : r.groups) {
    JsonValue one = JsonValue::object();
    one.set("group", g.name)
        .set("cluster", g.cluster)
        .set("plans", static_cast<std::int64_t>(g.plans))
        .set("random", regrets_json(g.random))
        .set("prediction", regrets_json(g.predicted))
        .set("expected_improvement", regrets_json(g.chosen));
    groups.push_back(std::move(one));
  }
  const auto line = [](const Replay::Line& l) {
    JsonValue one = JsonValue::object();
    one.set("mean", regrets_json(l.mean)).set("worst", regrets_json(l.worst));
    return one;
  };
  JsonValue document = JsonValue::object();
  document.set("random", line(r.random))
      .set("prediction", line(r.predicted))
      .set("expected_improvement", line(r.chosen))
      .set("steps", JsonValue::object()
                        .set("all", regrets_json(r.whole))
                        .set("rungs", regrets_json(r.rungs))
                        .set("five_trials", r.steps))
      .set("groups", std::move(groups));
  return document;
}

}  // namespace

// Sorted, the i-th is the least of k drawn if it is drawn and the others are further up:
// C(n - 1 - i, k - 1) of C(n, k) draws.
Regrets random_regrets(std::vector<double> regrets) {
  std::ranges::sort(regrets);
  const std::size_t n = regrets.size();
  Regrets r{};
  for (std::size_t k = 1; k <= kReplayTrials; ++k) {
    const std::size_t drawn = std::min(k, n);
    double share = static_cast<double>(drawn) / static_cast<double>(n);  // of draws with the first
    for (std::size_t i = 0; i + drawn <= n; ++i) {
      r[k - 1] += share * regrets[i];
      const std::size_t above = n - 1 - i;
      if (above > 0) share *= static_cast<double>(above + 1 - drawn) / static_cast<double>(above);
    }
  }
  return r;
}

Replay replay_trials(const std::vector<ComparedRun>& rows, RunCatalog& catalog, std::size_t least,
                     int threads) {
  std::map<std::pair<std::string, std::string>, std::size_t> at;
  std::vector<std::vector<const ComparedRun*>> members;
  for (const ComparedRun& row : rows) {
    if (row.run.group.empty() || !row.prediction || !row.step) continue;
    const auto [found, is_new] = at.try_emplace({row.run.cluster, row.run.group}, members.size());
    if (is_new) members.emplace_back();
    members[found->second].push_back(&row);
  }
  std::vector<GroupToReplay> groups;
  for (const auto& plans : members) {
    if (plans.size() < least) continue;
    const MeasuredRun& first = plans.front()->run;
    GroupToReplay g;
    g.group = {.name = first.group, .cluster = first.cluster, .plans = plans.size()};
    g.profile = &catalog.profile_of_cluster(first.cluster);
    for (const ComparedRun* row : plans) {
      const PreparedRun prepared = catalog.prepare(row->run);
      g.runs.push_back(
          run_to_learn(row->run, *prepared.request, row->prediction->plan, row->step->seconds));
      g.predicted.push_back(row->prediction->estimate.step.base());
    }
    groups.push_back(std::move(g));
  }
  for_each_in_parallel(groups.size(), thread_count(threads),
                       [&](std::size_t i) { replay(groups[i]); });
  Replay result;
  for (GroupToReplay& g : groups) result.groups.push_back(std::move(g.group));
  if (result.groups.empty()) return result;
  result.random = line_of(result.groups, &ReplayedGroup::random);
  result.predicted = line_of(result.groups, &ReplayedGroup::predicted);
  result.chosen = line_of(result.groups, &ReplayedGroup::chosen);
  result.whole = mean_of(result.groups, &ReplayedGroup::whole);
  for (const ReplayedGroup& g : result.groups)
    result.steps += g.steps / static_cast<double>(result.groups.size());
  result.rungs = mean_of(result.groups, &ReplayedGroup::rungs);
  return result;
}

void replay_files(const std::vector<std::string>& files, bool json) {
  std::vector<MeasuredRun> runs;
  for (const std::string& file : files) {
    for (MeasuredRun& run : read_runs(read_text_file(file), file)) runs.push_back(std::move(run));
  }
  RunCatalog catalog({});
  const Replay replayed = replay_trials(compare_runs(runs, catalog, 0), catalog, kLeastPlans, 0);
  if (replayed.groups.empty()) {
    throw_config_error(
        ExitCode::bad_file, files.front(), "group",
        fmt::format("no group has {} plans that are predicted and measured", kLeastPlans),
        "rows as `pleat validate` takes, several with the same \"group\"");
  }
  print(json ? replay_json(replayed).dump() + "\n" : replay_text(replayed));
}

}  // namespace pleat
