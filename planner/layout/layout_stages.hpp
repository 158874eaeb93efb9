// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The stages that a plan's pipeline may consist of, priced one by one: each holds a run of the model's
// pieces (decoder layers, multi-token prediction, loss). For pipelines whose ranks hold one chunk each.
#pragma once

#include <optional>
#include <unordered_map>

#include "core/plan/layout.hpp"
#include "planner/search/search.hpp"
#include "planner/bounds/stage_rows.hpp"
#include "simulator/estimator.hpp"

namespace pleat {

// Stage s holds pieces [cuts[s], cuts[s + 1]). The embedding is on the first, which may hold no piece.
using Cuts = std::vector<int>;

struct StageOption {
  bool fits = false;  // and could be priced
  Seconds busy;       // prologue, slots and epilogue
  StageRow row;
  StageMemory memory;
};

class LayoutStages {
 public:
  // The references must outlive it.
  LayoutStages(const Estimator&, const ModelSpec&, const WorkloadSpec&, const SearchConfig&,
               std::int64_t usable, const Plan&);

  [[nodiscard]] int stages() const { return stages_; }
  [[nodiscard]] int pieces() const { return pieces_; }
  // Of the plan's own layout. Nothing if a stage but the first holds no piece.
  [[nodiscard]] Cuts own_cuts() const;
  [[nodiscard]] Plan with(const Cuts&) const;
  [[nodiscard]] bool valid(const Cuts&) const;  // by the rules of plans

  // Prices all stages of a layout. False: it breaks a rule.
  bool price(const Cuts&);
  // Priced where it is not known yet. The reference stays valid.
  const StageOption& option(int stage, int first, int end);
  // Whether some stage could not be priced, because no layout with it was found that is valid.
  [[nodiscard]] bool left_out() const { return left_out_; }
  // Once a layout is priced.
  [[nodiscard]] Seconds step(const std::vector<const StageRow*>& rows) { return timer_->step(rows); }

 private:
  [[nodiscard]] std::vector<VirtualStage> stages_of(const Cuts&) const;
  // A layout in which the stage holds these pieces, the others about as much each.
  [[nodiscard]] Cuts around(int stage, int first, int end) const;
  [[nodiscard]] StageOption priced(int stage, const StageRecord&) const;

  const Estimator& estimator_;
  const ModelSpec& model_;
  const WorkloadSpec& workload_;
  const SearchConfig& config_;
  std::int64_t usable_;  // bytes of a GPU
  const Plan& plan_;
  int stages_, layers_, pieces_;
  std::shared_ptr<const ScheduleTable> table_;
  std::optional<RowTimer> timer_;
  std::unordered_map<std::int64_t, StageOption> options_;  // references stay valid
  bool left_out_ = false;
};

}  // namespace pleat
