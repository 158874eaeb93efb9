// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Where a rank stands in the job: its coordinates in both grids and a communicator for each of its
// groups.
#pragma once

#include <array>
#include <map>
#include <memory>

#include "backend/comm/communicator.hpp"
#include "core/plan/rank_map.hpp"
#include "core/program/program.hpp"

namespace pleat {

class RankContext {
 public:
  // All groups that the program's collectives need. They work on memory of `device`, which must
  // outlive them, and of the host; none: of the host.
  RankContext(const Program&, Transport&, Device* device = nullptr);

  [[nodiscard]] Rank rank() const { return rank_; }
  [[nodiscard]] const AttentionCoordinates& attention() const { return attention_; }
  [[nodiscard]] const ExpertCoordinates& expert() const { return expert_; }
  // Throws ExecutionError where this rank has no such group.
  [[nodiscard]] Communicator& comm(Group) const;
  // Of an operation's group and OpAttributes::run: the group, or the run of consecutive members of
  // tp that this rank is in.
  [[nodiscard]] Communicator& comm(Group, std::int64_t run) const;
  // This rank's place in every stage, by stage: what neighbouring stages exchange goes here.
  [[nodiscard]] Communicator& pipeline() const { return *pipeline_; }

 private:
  [[nodiscard]] Communicator& tp_run(int length) const;

  Rank rank_;
  AttentionCoordinates attention_;
  ExpertCoordinates expert_;
  std::array<std::unique_ptr<Communicator>, kGroups> groups_;  // by Group
  std::unique_ptr<Communicator> pipeline_;
  std::map<int, std::unique_ptr<Communicator>> tp_runs_;  // by length
};

}  // namespace pleat
