// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Layouts of 8 and 16 ranks that the parity suite runs: every way to divide a stage's ranks for
// attention, each folded with every way to divide them for experts, the other axes dealt out over
// them in turn.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "tests/support/small_models.hpp"

namespace pleat::test {

enum class Architecture { gqa, mla, dense };

struct SuiteLayout {
  std::string name;
  Plan plan;
  Architecture architecture = Architecture::gqa;
};

inline std::string name_of_layout(const Plan& p) {
  const auto& a = p.attention;
  std::string name;
  const auto add = [&](const char* axis, int degree) {
    if (degree > 1) name += (name.empty() ? "" : "_") + std::string(axis) + std::to_string(degree);
  };
  add("TP", a.tp), add("CP", a.cp), add("DP", a.dp), add("PP", a.pp), add("VPP", p.vpp);
  add("ETP", p.expert.etp), add("EP", p.expert.ep), add("EDP", p.expert.edp);
  add("MBS", p.micro_batch), add("INSTANCES", p.optimizer_instances);
  if (a.cp > 1) name += "_" + pleat::name_of(p.cp_comm);
  if (p.sharding == Sharding::none) name += "_unsharded";
  if (p.sharding == Sharding::zero2 || p.sharding == Sharding::zero3) {
    name += "_" + pleat::name_of(p.sharding);
  }
  if (p.dispatcher != Dispatcher::alltoall) name += "_" + pleat::name_of(p.dispatcher);
  if (p.recompute_full) name += "_recomputed";
  std::replace(name.begin(), name.end(), '+', '_');
  return name;
}

constexpr CpComm kContextKinds[] = {CpComm::p2p, CpComm::all_gather,
                                      CpComm::all_to_all, CpComm::a2a_p2p};

// Choices that every few layouts make; the periods have no common factor, so that all pairs occur.
inline void deal_out(Plan& p, std::size_t index) {
  const bool samples = p.attention.dp <= 2 && p.attention.pp == 1;
  if (index % 3 == 1 && p.expert.ep > 1) p.dispatcher = Dispatcher::allgather;
  if (index % 5 == 2) p.sharding = Sharding::none;
  if (index % 5 == 4 && p.attention.dp % 2 == 0 && p.expert.edp % 2 == 0 &&
      p.sharding == Sharding::zero1) {
    p.optimizer_instances = 2;
  }
  if (index % 7 == 3) p.recompute_full = true;
  if (index % 4 == 1 && samples) p.micro_batch = 2;
  if (p.attention.pp == 1 && p.optimizer_instances == 1) {
    if (index % 4 == 2) p.sharding = Sharding::zero2;
    if (index % 4 == 3) p.sharding = Sharding::zero3;
  }
  if (p.attention.cp > 1) p.cp_comm = kContextKinds[index / 2 % 4];
  if (p.cp_comm == CpComm::a2a_p2p && p.attention.cp > 2) p.cp_a2a = 2;
  const bool heads_for_all = p.attention.tp * p.attention.cp <= 4;  // the models have 4
  if (p.cp_comm == CpComm::a2a_p2p && p.attention.cp == 2) p.cp_comm = CpComm::p2p;
  if (p.cp_comm == CpComm::all_to_all && !heads_for_all) p.cp_comm = CpComm::p2p;
}

inline std::vector<SuiteLayout> suite_layouts() {
  const struct {
    AttentionMapping attention;
    int vpp;
  } divisions[] = {{{2, 1, 4, 1}, 1}, {{4, 1, 2, 1}, 1}, {{1, 1, 8, 1}, 1}, {{1, 1, 4, 2}, 1},
                   {{2, 1, 2, 2}, 1}, {{4, 1, 1, 2}, 1}, {{2, 1, 1, 4}, 1}, {{1, 1, 2, 4}, 1},
                   {{1, 1, 4, 2}, 2}, {{2, 1, 2, 2}, 2}, {{4, 1, 1, 2}, 2}, {{2, 1, 8, 1}, 1},
                   {{4, 1, 4, 1}, 1}, {{2, 1, 4, 2}, 1}, {{4, 1, 2, 2}, 2}, {{2, 1, 2, 4}, 1},
                   {{2, 2, 2, 1}, 1}, {{1, 4, 2, 1}, 1}, {{1, 2, 2, 2}, 2}, {{2, 2, 1, 2}, 1},
                   {{1, 2, 4, 1}, 1}, {{1, 4, 1, 2}, 1}, {{2, 2, 2, 2}, 1}, {{2, 4, 2, 1}, 1}};
  std::vector<SuiteLayout> all;
  for (const auto& d : divisions) {
    const int ranks = d.attention.tp * d.attention.cp * d.attention.dp;
    for (const int etp : {1, 2, 4}) {
      for (const int ep : {1, 2, 4, 8}) {
        if (ranks % (etp * ep) != 0) continue;
        Plan p = folded_plan(d.attention, etp, ep);
        p.vpp = d.vpp;
        deal_out(p, all.size());
        const bool mla = all.size() % 2 == 1;
        all.push_back({name_of_layout(p), p, mla ? Architecture::mla : Architecture::gqa});
      }
    }
    Plan p = folded_plan(d.attention, 1, 1);
    p.vpp = d.vpp;
    p.expert.edp = ranks;
    deal_out(p, all.size());
    all.push_back({name_of_layout(p) + "_dense", p, Architecture::dense});
  }
  return all;
}

// Those of the quick suite: two dozen, spread over the list.
inline bool in_quick_suite(std::size_t index) { return index % 5 == 0; }

}  // namespace pleat::test
