// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Where a rank stands in the job: its coordinates in both grids and a communicator for each of its
// groups.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <set>

#include "backend/comm/communicator.hpp"
#include "core/plan/rank_map.hpp"
#include "core/program/program.hpp"

namespace pleat {

class RankContext {
 public:
  // `tp_runs`: lengths of the runs of tp members that the program sums over (tp_runs).
  // The groups work on memory of `device`, which must outlive them, and of the host; none: of the
  // host.
  RankContext(const Plan&, Transport&, const std::set<int>& tp_runs = {},
              Device* device = nullptr);

  [[nodiscard]] Rank rank() const { return rank_; }
  [[nodiscard]] const AttentionCoordinates& attention() const { return attention_; }
  [[nodiscard]] const ExpertCoordinates& expert() const { return expert_; }
  // Throws ExecutionError where this rank has no such group.
  [[nodiscard]] Communicator& comm(Group) const;
  // The run of `length` consecutive members of tp that this rank is in.
  [[nodiscard]] Communicator& tp_run(int length) const;
  // This rank's place in every stage, by stage: what neighbouring stages exchange goes here.
  [[nodiscard]] Communicator& pipeline() const { return *pipeline_; }

 private:
  Rank rank_;
  AttentionCoordinates attention_;
  ExpertCoordinates expert_;
  std::array<std::unique_ptr<Communicator>, kGroups> groups_;  // by Group
  std::unique_ptr<Communicator> pipeline_;
  std::map<int, std::unique_ptr<Communicator>> tp_runs_;
};

// OpAttributes::run of the step's reductions over tp.
[[nodiscard]] std::set<int> tp_runs(const Program&);

}  // namespace pleat
