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
#include "console/output.hpp"
#include "console/tables.hpp"
#include "console/terminal.hpp"
#include "core/diagnostics.hpp"
#include "core/json/text_file.hpp"
#include "planner/search/parallel_rounds.hpp"

namespace pleat {
namespace {

constexpr std::size_t kLeastPlans = 5;

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

std::vector<std::size_t> chosen_order(const Profile& profile, const std::vector<RunToLearn>& runs) {
  TrialChoice choice(profile, runs);
  std::vector<std::size_t> order;
  while (order.size() < kReplayTrials) {
    const auto next = choice.next();
    if (!next) break;
    order.push_back(next->plan);
    choice.measured(next->plan, runs[next->plan].measured);
  }
  return order;
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
  g.group.chosen = regrets_in_order(regrets, chosen_order(*g.profile, g.runs));
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
         to_text(table, terminal().columns);
}

JsonValue regrets_json(const Regrets& regrets) {
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
