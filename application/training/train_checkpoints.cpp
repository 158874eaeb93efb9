// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/training/train_checkpoints.hpp"

#include <fmt/format.h>

#include "backend/checkpoint/failpoint.hpp"
#include "backend/rank_context.hpp"
#include "backend/replica_check.hpp"
#include "console/output.hpp"
#include "console/write_file.hpp"
#include "core/diagnostics.hpp"

namespace pleat {
namespace {

void require_together(const CheckpointOptions& o) {
  Diagnostics problems;
  const auto require = [&](bool holds, const char* flag, const char* message, const char* hint) {
    if (!holds) problems.error(ExitCode::bad_request, flag, "", message, hint);
  };
  const bool saves = !o.save.empty();
  require(saves || o.every == 0, "--save-every", "there is nowhere to save", "--save FOLDER");
  require(saves || !o.background, "--async-save", "there is nowhere to save", "--save FOLDER");
  require(saves || !o.resume, "--resume", "there is no folder to look in",
          "--save FOLDER, or --load FOLDER");
  require(!o.resume || o.load.empty(), "--resume", "the checkpoint is named already by --load",
          "one of them");
  problems.throw_if_errors();
}

}  // namespace

TrainCheckpoints::TrainCheckpoints(const CheckpointOptions& o, const Request& request,
                                   const RunData& data, bool first_process, TrainConfig& config) {
  require_together(o);
  TrainingState state;
  state.seq_len = request.target.workload.seq_len;
  state.global_batch = request.target.workload.global_batch;
  state.seed = config.seed;
  state.data = data.digest;
  state.order_samples = data.order_samples;
  state.data_begins = data.begins;
  const auto say = [](const std::string& text) { note(text); };
  if (failpoint_armed("op.")) {
    config.before_op = [](Rank rank, const Op& op, int step) {
      failpoint("op." + op.name, rank.value, step);
    };
  }
  if (o.resume || !o.load.empty()) {
    restore_ = {.folder = o.resume ? o.save : o.load,
                .optional = o.resume,
                .state = state,
                .model = request.target.model,
                .on_message = say,
                .other_data = data.replaces};
    if (first_process && !data.remark.empty()) note(data.remark);
    config.before_first_step = [this](const StepBoundary& b) { return restore(b, restore_); };
  }
  check_replicas_ = o.check_replicas;
  config.after_step = [this, steps = config.steps](const StepBoundary& b) { after_step(b, steps); };
  if (o.save.empty()) return;
  if (writes_are_only_said()) {
    if (first_process) note("would write " + o.save + " (checkpoints)");
    return;
  }
  if (first_process) lock_.emplace(o.save);
  save_.folder = o.save;
  save_.every = o.every;
  save_.keep = o.keep;
  save_.background = o.background;
  save_.plan_document = write_plan_document(document_of(request, "pleat train --save"));
  save_.state = state;
  save_.on_message = [](const std::string& text) { note("warning: " + text); };
  for (int r = 0; r < request.plan.world(); ++r) savers_.push_back(std::make_unique<Saver>(save_));
}

void TrainCheckpoints::after_step(const StepBoundary& b, int steps) {
  // First: what is saved should be right.
  if (check_replicas_ > 0 && b.next_step % check_replicas_ == 0) check_replicas(b);
  if (savers_.empty()) return;
  const bool last = b.next_step == steps || b.stop != Stop::none;
  savers_[static_cast<std::size_t>(b.context.rank().value)]->after_step(b, last);
}

}  // namespace pleat
