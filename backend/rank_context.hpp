// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Where a rank stands in the job: its coordinates in both grids and a communicator for each of its
// groups.
#pragma once

#include <array>
#include <memory>

#include "backend/comm/communicator.hpp"
#include "core/plan/rank_map.hpp"

namespace pleat {

class RankContext {
 public:
  RankContext(const Plan&, Transport&);

  [[nodiscard]] Rank rank() const { return rank_; }
  [[nodiscard]] const AttentionCoordinates& attention() const { return attention_; }
  [[nodiscard]] const ExpertCoordinates& expert() const { return expert_; }
  // Throws ExecutionError where this rank has no such group.
  [[nodiscard]] Communicator& comm(Group) const;
  // This rank's place in every stage, by stage: what neighbouring stages exchange goes here.
  [[nodiscard]] Communicator& pipeline() const { return *pipeline_; }

 private:
  Rank rank_;
  AttentionCoordinates attention_;
  ExpertCoordinates expert_;
  std::array<std::unique_ptr<Communicator>, kGroups> groups_;  // by Group
  std::unique_ptr<Communicator> pipeline_;
};

}  // namespace pleat
