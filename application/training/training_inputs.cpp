// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/training/training_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backend/checkpoint/digest.hpp"
#include "backend/data/continued_samples.hpp"
#include "backend/data/training_data.hpp"
#include "core/diagnostics.hpp"
#include "core/environment.hpp"

namespace pleat {
namespace {

// Without any a router soon sends all tokens to the same few experts. The value of Switch
// Transformers (Fedus et al., 2021, section 2.2).
constexpr double kUsualAuxLoss = 0.01;

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

// Tells orders of samples apart by some of them: what goes on has to be the order that was begun.
std::string identity_of(const SampleSource& data) {
  constexpr std::int64_t kSome = 8, kAmong = 4096;
  const std::int64_t among = std::min(kAmong, data.size());
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(data.seq_len()) + 1);
  Digest digest;
  for (std::int64_t i = 0; i < std::min(kSome, among); ++i) {
    data.read(i * among / kSome, tokens);
    digest.add(std::as_bytes(std::span(tokens)));
  }
  return digest.hex();
}

}  // namespace

RunData set_data(const TrainOptions& o, const Program& program,
                 const std::optional<EarlierRun>& earlier, TrainConfig& config) {
  const std::int64_t batch = program.workload.global_batch, taken = o.steps * batch;
  std::optional<std::int32_t> end_of_document;
  const auto open = [&](std::int64_t samples, int n) {
    TrainingData data = open_training_data(
        {o.data, o.tokenizer, o.split, o.eod, cache_directory(), program.model.vocab},
        {.seq_len = program.workload.seq_len,
         .samples = samples,
         .seed = static_cast<std::uint32_t>(o.seed + static_cast<std::uint64_t>(n))});
    end_of_document = data.end_of_document;
    return data.samples;
  };
  const bool asked = o.order_samples > 0;
  RunData run{.order_samples = asked ? o.order_samples : taken};
  if (!asked && earlier && earlier->state.order_samples > 0) {
    run.order_samples = earlier->state.order_samples;
  }
  std::shared_ptr<const SampleSource> first = open(run.order_samples, 0);
  run.digest = identity_of(*first);
  if (earlier && run.digest == earlier->state.data) {
    run.begins = earlier->state.data_begins;
  } else if (earlier && !o.checkpoints.load.empty()) {
    run.replaces = true;
    run.begins = earlier->state.samples;
    if (!asked) run.order_samples = std::max<std::int64_t>(1, taken - run.begins);
    first = open(run.order_samples, 0);
    run.digest = identity_of(*first);
    run.remark = "other data than the checkpoint's: its order begins with this run";
  }
  const std::int64_t end = run.begins + first->size();
  if (end < taken && asked) {
    throw_config_error(
        ExitCode::bad_request, "--order-samples", "",
        fmt::format("the run takes {} samples, the order has {}", taken - run.begins,
                    first->size()),
        fmt::format("--order-samples {}", taken - run.begins));
  }
  if (end < taken) {
    run.remark += fmt::format("{}the order of {} samples ends in step {}; another one follows",
                              run.remark.empty() ? "" : "; ", first->size(), end / batch);
  }
  config.data = continue_samples(std::move(first), run.begins, taken, open);
  config.evaluation = held_out_data(o, program);
  if (!o.eod_mask_loss) return run;
  if (!end_of_document) {
    throw_config_error(ExitCode::bad_request, "--eod-mask-loss", "",
                       fmt::format("{} does not say which token ends a document", o.tokenizer),
                       "--eod TOKEN");
  }
  config.packing = {.end_of_document = *end_of_document, .mask_loss = true};
  return run;
}

void set_losses(const TrainOptions& o, const std::optional<EarlierRun>& earlier, ModelSpec& m,
                std::vector<std::string>& assumed) {
  if (earlier && earlier->model.moe && m.moe) {  // as it was trained so far
    m.mtp_loss = earlier->model.mtp_loss;
    m.moe->aux_loss = earlier->model.moe->aux_loss;
    m.moe->seq_aux_loss = earlier->model.moe->seq_aux_loss;
    m.moe->z_loss = earlier->model.moe->z_loss;
  }
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
  const bool balanced = o.aux_loss || earlier || m.moe->aux_loss > 0 || m.moe->seq_aux_loss > 0 ||
                        m.moe->expert_bias || o.forced_routing;
  if (balanced) return;
  m.moe->aux_loss = kUsualAuxLoss;
  assumed.push_back(fmt::format("--aux-loss {}", kUsualAuxLoss));
}

}  // namespace pleat
