// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Prices of single pipeline stages, for all layouts of a plan whose ranks hold one chunk each. A
// stage holds consecutive pieces of the model: decoder layers, multi-token prediction, loss.
#pragma once

#include <optional>
#include <unordered_map>

#include "core/plan/layout.hpp"
#include "planner/bounds/stage_rows.hpp"
#include "planner/problem.hpp"
#include "planner/search_config.hpp"
#include "simulator/estimator.hpp"

namespace pleat {

// Stage s holds pieces [cuts[s], cuts[s + 1]). The first stage also has the embedding, and may hold
// no piece.
using Cuts = std::vector<int>;

struct StageOption {
  bool fits = false;  // and it could be priced
  Seconds busy;       // prologue, slots and epilogue
  StageRow row;
  StageMemory memory;
};

class LayoutStages {
 public:
  // The references must outlive it.
  LayoutStages(const Estimator&, const Problem&, const SearchConfig&,
               std::int64_t usable, const Plan&);

  [[nodiscard]] int stages() const { return stages_; }
  [[nodiscard]] int pieces() const { return pieces_; }
  // The cuts of the plan's own layout; empty if a stage other than the first holds no piece.
  [[nodiscard]] Cuts own_cuts() const;
  [[nodiscard]] Plan with(const Cuts&) const;
  [[nodiscard]] bool valid(const Cuts&) const;  // by the rules of plans

  // Prices all stages of a layout. False: it breaks a rule.
  bool price(const Cuts&);
  // The price of a stage that holds pieces [first, end), computed when first asked for. The
  // reference stays valid.
  const StageOption& option(int stage, int first, int end);
  // Whether some stage could not be priced, because no valid layout that contains it was found.
  [[nodiscard]] bool left_out() const { return left_out_; }
  // The step of these stages. Needs a priced layout.
  [[nodiscard]] Seconds step(const std::vector<const StageRow*>& rows) {
    return timer_->step(rows);
  }

 private:
  [[nodiscard]] std::vector<VirtualStage> stages_of(const Cuts&) const;
  // A layout in which this stage holds pieces [first, end) and the others share the rest about
  // evenly.
  [[nodiscard]] Cuts around(int stage, int first, int end) const;
  [[nodiscard]] StageOption priced(int stage, const StageRecord&) const;

  const Estimator& estimator_;
  const Problem& problem_;
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
