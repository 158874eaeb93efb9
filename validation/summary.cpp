// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rows to tables: errors by what rows have in common, the noise between repeated runs, and other
// people's predictions by the same measure.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "validation/comparison.hpp"
#include "validation/not_told_apart.hpp"
#include "validation/run_request.hpp"

namespace pleat {
namespace {

using Rows = std::vector<const ComparedRun*>;
using Key = std::function<std::string(const ComparedRun&)>;

std::vector<double> errors_of(const Rows& rows) {
  std::vector<double> errors;
  for (const ComparedRun* row : rows) {
    if (row->error) errors.push_back(*row->error);
  }
  return errors;
}

bool inside_band(const ComparedRun& row) {
  if (!row.error) return false;
  const StepEstimate& e = row.prediction->estimate;
  return e.low.base() <= row.step->seconds && row.step->seconds <= e.high.base();
}

SummaryLine line_of(const std::string& value, const Rows& rows) {
  SummaryLine line{value, summarise(errors_of(rows)), 0, 0};
  for (const ComparedRun* row : rows) {
    line.missed += row->missed() ? 1 : 0;
    line.inside_band += inside_band(*row) ? 1 : 0;
  }
  return line;
}

SummaryTable table_by(const std::string& name, const std::vector<ComparedRun>& rows,
                      const Key& key) {
  std::map<std::string, Rows> groups;
  for (const ComparedRun& row : rows) groups[key(row)].push_back(&row);
  SummaryTable table{name, {}};
  for (const auto& [value, members] : groups) {
    table.lines.push_back(line_of(value.empty() ? "not stated" : value, members));
  }
  return table;
}

// The sets that the project measures itself by; a row may be in several.
SummaryTable goals(const std::vector<ComparedRun>& rows) {
  const int recent = *month_of_era("nemo-25.09");
  const auto tier_in = [](const std::vector<std::string>& tiers) {
    return [tiers](const ComparedRun& row) {
      return std::find(tiers.begin(), tiers.end(), row.run.tier) != tiers.end();
    };
  };
  const auto a = tier_in({"A"}), ab = tier_in({"A", "B"}), b200 = tier_in({"S"});
  const auto since = [&](const ComparedRun& row) {
    return ab(row) && month_of_era(row.run.era).value_or(0) >= recent;
  };
  const auto gpus = [](int least, int most) {
    return [=](const ComparedRun& row) {
      return row.run.tier.starts_with("V-") && row.run.gpus >= least && row.run.gpus <= most;
    };
  };
  SummaryTable table{"goal", {}};
  const auto add = [&](const char* name, const std::function<bool(const ComparedRun&)>& in) {
    Rows members;
    for (const ComparedRun& row : rows) {
      if (in(row)) members.push_back(&row);
    }
    if (!members.empty()) table.lines.push_back(line_of(name, members));
  };
  add("tier A", a);
  add("tiers A and B, nemo-25.09 on", since);
  add("vTrain, 64-512 GPUs", gpus(64, 512));
  add("vTrain, 2-8 GPUs", gpus(2, 8));
  add("SimuMax's B200 rows", b200);
  return table;
}

std::vector<MissedReason> reasons_of(const std::vector<ComparedRun>& rows) {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const ComparedRun& row : rows) {
    if (row.missed()) by_reason[row.reason].push_back(row.run.id);
  }
  std::vector<MissedReason> reasons;
  for (auto& [reason, ids] : by_reason) reasons.push_back({reason, std::move(ids)});
  std::stable_sort(reasons.begin(), reasons.end(), [](const auto& a, const auto& b) {
    return a.ids.size() > b.ids.size();
  });
  return reasons;
}

// Largest over smallest of each group that has two or more.
ErrorSummary spreads(const std::map<std::string, std::vector<double>>& groups, std::size_t& count) {
  std::vector<double> found;
  for (const auto& [key, times] : groups) {
    if (times.size() < 2) continue;
    const auto [low, high] = std::minmax_element(times.begin(), times.end());
    found.push_back(*high / *low - 1.0);
  }
  count = found.size();
  return summarise(found);
}

NoiseFloor noise_of(const std::vector<ComparedRun>& rows) {
  std::map<std::string, std::vector<double>> same_era, any_era;
  for (const ComparedRun& row : rows) {
    if (!row.step) continue;
    same_era[row.run.era + "\n" + row.run.settings].push_back(row.step->seconds);
    any_era[row.run.settings].push_back(row.step->seconds);
  }
  NoiseFloor noise;
  noise.same_era = spreads(same_era, noise.groups_same_era);
  noise.any_era = spreads(any_era, noise.groups_any_era);
  return noise;
}

// What one predictor says of a row: a time, and where it speaks of memory, bytes.
struct Predictor {
  std::string name;
  std::function<std::optional<double>(const ComparedRun&)> seconds, bytes;
};

std::optional<double> find_peer(const std::vector<std::pair<std::string, double>>& peers,
                                const std::string& name) {
  for (const auto& [peer, value] : peers) {
    if (peer == name) return value;
  }
  return std::nullopt;
}

std::vector<Predictor> predictors(const Rows& rows) {
  std::vector<Predictor> list{
      {"pleat",
       [](const ComparedRun& row) -> std::optional<double> {
         if (!row.prediction) return std::nullopt;
         return row.prediction->estimate.step.base();
       },
       [](const ComparedRun& row) -> std::optional<double> {
         if (!row.prediction) return std::nullopt;
         return static_cast<double>(row.prediction->estimate.peak_allocated_bytes());
       }}};
  for (const ComparedRun* row : rows) {
    for (const auto& [name, value] : row->run.peers_s) {
      const auto known = [&](const Predictor& p) { return p.name == name; };
      if (std::any_of(list.begin(), list.end(), known)) continue;
      list.push_back({name,
                      [name](const ComparedRun& r) { return find_peer(r.run.peers_s, name); },
                      [name](const ComparedRun& r) {
                        return find_peer(r.run.peers_peak_bytes, name);
                      }});
    }
  }
  return list;
}

// Over the groups that `key` makes; rows without a group or a time are left out.
Choosing choosing_of(const Predictor& p, const Rows& rows, const Key& key) {
  std::map<std::string, std::vector<TimedLayout>> groups;
  for (const ComparedRun* row : rows) {
    const auto seconds = p.seconds(*row);
    if (!seconds || !row->step || row->run.group.empty()) continue;
    groups[key(*row)].push_back({row->step->seconds, *seconds});
  }
  std::vector<double> regrets;
  PairCount pairs;
  for (const auto& [group, choices] : groups) {
    if (choices.size() < 2) continue;
    regrets.push_back(regret(choices));
    const PairCount here = concordance(choices);
    pairs.same_order += here.same_order;
    pairs.pairs += here.pairs;
  }
  return {regrets.size(), pairs.pairs, mean(regrets),
          pairs.pairs > 0 ? pairs.same_order / static_cast<double>(pairs.pairs) : 0};
}

std::string group_of(const ComparedRun& row) { return row.run.group; }

// Groups of other files than vTrain's hold runs of several sizes and releases.
std::string group_of_plans(const ComparedRun& row) {
  const MeasuredRun& r = row.run;
  return fmt::format("{}|{}|{}|{}|{}|{}", r.group, r.era, r.gpus, r.seq_len, r.global_batch,
                     r.model_name);
}

PeerLine peer_line(const Predictor& p, const Rows& rows) {
  std::vector<double> few, many, all, memory;
  for (const ComparedRun* row : rows) {
    if (const auto bytes = p.bytes(*row); bytes && row->run.measured.peak_bytes) {
      memory.push_back(*bytes / *row->run.measured.peak_bytes - 1.0);
    }
    const auto seconds = p.seconds(*row);
    if (!seconds) continue;
    const double error = *seconds / row->step->seconds - 1.0;
    all.push_back(error);
    if (row->run.gpus >= 2 && row->run.gpus <= 8) few.push_back(error);
    if (row->run.gpus >= 64 && row->run.gpus <= 512) many.push_back(error);
  }
  return {p.name,          summarise(few),    summarise(many),
          summarise(all),  summarise(memory), choosing_of(p, rows, group_of)};
}

PeerTable peer_table(const Rows& rows) {
  PeerTable table;
  table.rows = rows.size();
  std::set<std::string> tiers;
  for (const ComparedRun* row : rows) tiers.insert(row->run.tier);
  for (const std::string& tier : tiers) table.tiers += (table.tiers.empty() ? "" : ", ") + tier;
  for (const Predictor& p : predictors(rows)) table.lines.push_back(peer_line(p, rows));
  return table;
}

std::vector<PeerTable> peer_tables(const std::vector<ComparedRun>& rows) {
  std::map<std::string, Rows> by_peers;
  for (const ComparedRun& row : rows) {
    if (row.run.peers_s.empty() || !row.step) continue;
    std::string names;
    for (const auto& [name, seconds] : row.run.peers_s) names += name + "\n";
    by_peers[names].push_back(&row);
  }
  std::vector<PeerTable> tables;
  for (const auto& [names, members] : by_peers) tables.push_back(peer_table(members));
  return tables;
}

}  // namespace

Summary summarise_runs(const std::vector<ComparedRun>& rows) {
  Summary s;
  s.rows = rows.size();
  std::vector<double> errors, memory;
  for (const ComparedRun& row : rows) {
    s.missed += row.missed() ? 1 : 0;
    if (row.error) errors.push_back(*row.error);
    if (row.memory_error) memory.push_back(*row.memory_error);
  }
  s.predicted = s.rows - s.missed;
  s.all = summarise(errors);
  s.memory = summarise(memory);
  const auto field = [](std::string MeasuredRun::*member) -> Key {
    return [member](const ComparedRun& row) { return row.run.*member; };
  };
  if (SummaryTable table = goals(rows); !table.lines.empty()) s.tables.push_back(std::move(table));
  s.tables.push_back(table_by("tier", rows, field(&MeasuredRun::tier)));
  s.tables.push_back(table_by("cluster", rows, field(&MeasuredRun::cluster)));
  s.tables.push_back(table_by("model", rows, field(&MeasuredRun::model_name)));
  s.tables.push_back(table_by("precision", rows, [](const ComparedRun& row) {
    return row.run.plan.precision.value_or("");
  }));
  s.tables.push_back(table_by("era", rows, field(&MeasuredRun::era)));
  s.reasons = reasons_of(rows);
  s.noise = noise_of(rows);
  std::set<std::size_t> repeated;
  for (const std::vector<std::size_t>& set : not_told_apart(rows)) {
    repeated.insert(set.begin() + 1, set.end());
    std::vector<std::string>& ids = s.not_told_apart.emplace_back();
    for (const std::size_t i : set) ids.push_back(rows[i].run.id);
  }
  Rows all;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!repeated.contains(i)) all.push_back(&rows[i]);
  }
  s.choosing = choosing_of(predictors(all).front(), all, group_of_plans);
  s.peers = peer_tables(rows);
  return s;
}

}  // namespace pleat
