// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/training/training_inputs.hpp"

#include <fmt/format.h>

#include "backend/data/training_data.hpp"
#include "core/diagnostics.hpp"
#include "core/environment.hpp"

namespace pleat {
namespace {

// Samples of the validation share, or all of --valid-data.
Evaluation held_out_data(const TrainOptions& o, const Program& program) {
  const bool asked = o.eval_iters > 0;
  if (!asked && (!o.valid_data.empty() || o.eval_interval > 0)) {
    throw_config_error(
        ExitCode::bad_request, o.valid_data.empty() ? "--eval-interval" : "--valid-data", "",
        "how many batches of held-out data to look at is not said", "--eval-iters N");
  }
  if (!asked) return {};
  const bool own = !o.valid_data.empty();
  if (!own && parse_split(o.split)[1] <= 0) {
    throw_config_error(ExitCode::bad_request, "--eval-iters", "",
                       fmt::format("--split {} leaves no data for validation", o.split),
                       "--valid-data FILE, or --split \"969, 30, 1\"");
  }
  TrainingData data = open_training_data(
      {own ? o.valid_data : o.data, o.tokenizer, own ? "1" : o.split, o.eod, cache_directory(),
       program.model.vocab},
      {.split = own ? DataSplit::train : DataSplit::valid,
       .seq_len = program.workload.seq_len,
       .samples = o.eval_iters * program.workload.global_batch,
       .seed = static_cast<std::uint32_t>(o.seed)});
  return {std::move(data.samples), o.eval_interval, o.eval_iters};
}

}  // namespace

void set_data(const TrainOptions& o, const Program& program, TrainConfig& config) {
  const std::int64_t taken = o.steps * program.workload.global_batch;
  TrainingData data = open_training_data(
      {o.data, o.tokenizer, o.split, o.eod, cache_directory(), program.model.vocab},
      {.seq_len = program.workload.seq_len,
       .samples = o.order_samples > 0 ? o.order_samples : taken,
       .seed = static_cast<std::uint32_t>(o.seed)});
  if (data.samples->size() < taken) {
    throw_config_error(
        ExitCode::bad_request, "--order-samples", "",
        fmt::format("the run takes {} samples, the order has {}", taken, data.samples->size()),
        fmt::format("--order-samples {}", taken));
  }
  config.data = std::move(data.samples);
  config.evaluation = held_out_data(o, program);
  if (!o.eod_mask_loss) return;
  if (!data.end_of_document) {
    throw_config_error(ExitCode::bad_request, "--eod-mask-loss", "",
                       fmt::format("{} does not say which token ends a document", o.tokenizer),
                       "--eod TOKEN");
  }
  config.packing = {.end_of_document = *data.end_of_document, .mask_loss = true};
}

void set_losses(const TrainOptions& o, ModelSpec& m) {
  m.mtp_loss = o.mtp_loss.value_or(m.mtp_loss);
  const bool asked = o.aux_loss || o.seq_aux_loss || o.z_loss;
  if (!m.moe) {
    if (!asked) return;
    throw_config_error(ExitCode::bad_request, "", "--aux-loss, --seq-aux-loss, --z-loss",
                       fmt::format("{} has no router whose loss it could be", m.name),
                       "leave them out, or use a model with experts");
  }
  m.moe->aux_loss = o.aux_loss.value_or(m.moe->aux_loss);
  m.moe->seq_aux_loss = o.seq_aux_loss.value_or(m.moe->seq_aux_loss);
  m.moe->z_loss = o.z_loss.value_or(m.moe->z_loss);
  if (m.moe->expert_bias) m.moe->bias_update = o.bias_update;
}

}  // namespace pleat
