// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/learn/judge_learning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <utility>

#include "application/learn/runs_to_learn.hpp"
#include "console/output.hpp"
#include "console/tables.hpp"
#include "core/diagnostics.hpp"
#include "planner/search/parallel_rounds.hpp"

namespace pleat {
namespace {

struct Judged {  // of one draw, over the runs that were not given
  double before = 0, after = 0, inside_before = 0, inside_after = 0, band_before = 0,
         band_after = 0;
  bool refused = false;
};

// The first `count` of a shuffle; std::shuffle differs between libraries.
std::vector<std::size_t> choose(std::size_t count, std::size_t all, std::mt19937_64& random) {
  std::vector<std::size_t> order(all);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = 0; i < count; ++i) std::swap(order[i], order[i + random() % (all - i)]);
  order.resize(count);
  return order;
}

struct Errors {
  double median = 0, inside = 0, band = 0;
};

Errors errors_of(const std::vector<RunToLearn>& runs, const std::vector<std::size_t>& given,
                 const Profile& profile) {
  std::vector<double> errors, bands;
  double inside = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (std::ranges::find(given, i) != given.end()) continue;
    const StepEstimate e = runs[i].price(profile);
    errors.push_back(std::abs(e.step.base() / runs[i].measured - 1));
    bands.push_back(e.relative_band);
    inside += e.low.base() <= runs[i].measured && runs[i].measured <= e.high.base() ? 1 : 0;
  }
  return {quantile(errors, 0.5), inside / static_cast<double>(errors.size()), mean(bands)};
}

Judged judge_draw(const std::vector<RunToLearn>& runs, const std::vector<std::size_t>& given,
                  const Profile& profile) {
  std::vector<RunToLearn> chosen;
  for (const std::size_t i : given) chosen.push_back(runs[i]);
  Judged judged;
  const Errors before = errors_of(runs, given, profile);
  Errors after = before;
  try {
    after = errors_of(runs, given, learn_from_runs(profile, chosen));
  } catch (const ConfigError&) {  // they disagree: nothing is learned
    judged.refused = true;
  }
  judged.before = before.median;
  judged.after = after.median;
  judged.inside_before = before.inside;
  judged.inside_after = after.inside;
  judged.band_before = before.band;
  judged.band_after = after.band;
  return judged;
}

JudgedGroup judge_group(const std::vector<RunToLearn>& runs, const Profile& profile,
                        const JudgeOptions& o) {
  std::mt19937_64 random(o.seed);
  std::vector<std::vector<std::size_t>> draws;
  for (int d = 0; d < o.draws; ++d) {
    draws.push_back(choose(static_cast<std::size_t>(o.given), runs.size(), random));
  }
  std::vector<Judged> judged(draws.size());
  for_each_in_parallel(draws.size(), thread_count(o.threads),
                       [&](std::size_t d) { judged[d] = judge_draw(runs, draws[d], profile); });
  JudgedGroup group;
  group.runs = runs.size();
  group.worst_change = -1;
  const double share = 1.0 / static_cast<double>(draws.size());
  for (const Judged& j : judged) {
    group.before += share * j.before;
    group.after += share * j.after;
    group.inside_before += share * j.inside_before;
    group.inside_after += share * j.inside_after;
    group.band_before += share * j.band_before;
    group.band_after += share * j.band_after;
    group.worst_change = std::max(group.worst_change, j.after - j.before);
    group.refused += j.refused ? 1 : 0;
  }
  return group;
}

std::string percent_text(double share) { return fmt::format("{:.2f}%", 100 * share); }

}  // namespace

Judgement judge_learning(const std::vector<ComparedRun>& rows, RunCatalog& catalog,
                         const JudgeOptions& o) {
  std::map<std::pair<std::string, std::string>, std::vector<const ComparedRun*>> groups;
  for (const ComparedRun& row : rows) {
    if (row.error) groups[{row.run.cluster, row.run.model_name}].push_back(&row);
  }
  Judgement judgement;
  const std::size_t least = std::max(o.least, static_cast<std::size_t>(o.given) + 1);
  for (const auto& [key, members] : groups) {
    if (members.size() < least) continue;
    progress(fmt::format("learning from runs of {} on {}", key.second, key.first));
    std::vector<RunToLearn> runs;
    for (const ComparedRun* row : members) {
      const PreparedRun prepared = catalog.prepare(row->run);
      runs.push_back(
          run_to_learn(row->run, *prepared.request, row->prediction->plan, row->step->seconds));
    }
    JudgedGroup group = judge_group(runs, catalog.profile_of_cluster(key.first), o);
    group.cluster = key.first;
    group.model = key.second;
    judgement.groups.push_back(std::move(group));
  }
  progress("");
  std::ranges::stable_sort(judgement.groups, std::greater<>{}, &JudgedGroup::runs);
  std::vector<double> falls;
  judgement.worst_change = judgement.groups.empty() ? 0 : -1;
  for (const JudgedGroup& group : judgement.groups) {
    falls.push_back(group.fall());
    judgement.worst_change = std::max(judgement.worst_change, group.after - group.before);
  }
  judgement.median_fall = quantile(falls, 0.5);
  return judgement;
}

std::string judgement_text(const Judgement& j, const JudgeOptions& o) {
  Table table{{{"cluster", Align::left},
               {"model", Align::left},
               {"runs"},
               {"error before"},
               {"error after"},
               {"falls by"},
               {"worst draw"},
               {"in band before"},
               {"in band after"},
               {"band before"},
               {"band after"},
               {"refused"}},
              {},
              2};
  for (const JudgedGroup& g : j.groups) {
    table.rows.push_back({g.cluster, g.model, std::to_string(g.runs), percent_text(g.before),
                          percent_text(g.after), fmt::format("{:.0f}%", 100 * g.fall()),
                          fmt::format("{:+.2f}", 100 * g.worst_change),
                          fmt::format("{:.0f}%", 100 * g.inside_before),
                          fmt::format("{:.0f}%", 100 * g.inside_after), percent_text(g.band_before),
                          percent_text(g.band_after), std::to_string(g.refused)});
  }
  return fmt::format(
             "Learning from {} runs of a cluster and model, {} draws: median |error| of "
             "the others\n\n",
             o.given, o.draws) +
         to_text(table) +
         fmt::format(
             "\n{} groups: the error falls by {:.1f}% (median of the groups); worst group "
             "{:+.2f} points\n",
             j.groups.size(), 100 * j.median_fall, 100 * j.worst_change);
}

JsonValue judgement_json(const Judgement& j) {
  JsonValue groups = JsonValue::array();
  for (const JudgedGroup& g : j.groups) {
    groups.push_back(JsonValue::object()
                         .set("cluster", g.cluster)
                         .set("model", g.model)
                         .set("runs", static_cast<std::int64_t>(g.runs))
                         .set("error_before", g.before)
                         .set("error_after", g.after)
                         .set("worst_change_of_a_draw", g.worst_change)
                         .set("in_band_before", g.inside_before)
                         .set("in_band_after", g.inside_after)
                         .set("band_before", g.band_before)
                         .set("band_after", g.band_after)
                         .set("draws_refused", g.refused));
  }
  return JsonValue::object()
      .set("median_fall", j.median_fall)
      .set("worst_change", j.worst_change)
      .set("groups", std::move(groups));
}

}  // namespace pleat
