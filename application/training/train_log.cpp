// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/training/train_log.hpp"

#include <fmt/format.h>

#include <cmath>

#include "console/write_file.hpp"
#include "core/diagnostics.hpp"
#include "core/json/json_value.hpp"
#include "core/plan/numerics.hpp"
#include "core/spec/expert_load_json.hpp"
#include "simulator/cost/op_work.hpp"

namespace pleat {
namespace {

// JSON has no NaN.
JsonValue number(double value) { return std::isfinite(value) ? JsonValue(value) : JsonValue(); }

}  // namespace

std::string step_line(int step, const StepRecord& done) {
  return fmt::format("step {:4}   loss {:.4f}   {:.3f} s{}\n", step, done.loss, done.seconds,
                     done.skipped ? "   skipped: gradients are not finite" : "");
}

TrainLog::TrainLog(const LogOptions& o, const Request& r) : json_path_(o.json_file) {
  const WorkloadSpec& w = r.target.workload;
  tokens_ = static_cast<double>(w.global_batch) * static_cast<double>(w.seq_len);
  flops_ = model_flops_per_token(r.target.model, w.seq_len, FlopsConvention::bridge).base();
  const DType math = r.plan.precision == Precision::fp32 ? DType::fp32 : DType::bf16;
  const GpuSpec& gpu = r.target.cluster.gpu;
  bf16_peak_ = usable_peak(gpu, math).base() * r.plan.world();
  product_peak_ = usable_peak(gpu, product_type(r.plan.precision)).base() * r.plan.world();
  if (!json_path_.empty() && !only_said(json_path_ + " (a line a step)")) {
    json_.open(json_path_, std::ios::binary | std::ios::app);
    if (!json_) throw_config_error(ExitCode::device_or_io, json_path_, "", "cannot write");
  }
  if (!o.tensorboard_folder.empty() && !only_said(o.tensorboard_folder + " (TensorBoard events)"))
    events_.emplace(o.tensorboard_folder);
}

double TrainLog::tokens_per_second(const StepRecord& s) const { return tokens_ / s.seconds; }

double TrainLog::mfu(const StepRecord& s, double peak) const {
  return tokens_per_second(s) * flops_ / peak;
}

std::string TrainLog::line(int step, const StepRecord& s) const {
  std::string text = step_line(step, s);
  text.pop_back();
  text += fmt::format("   {:.0f} tok/s   MFU {:.1f} %   grad {:.3g}   lr {:.3g}",
                      tokens_per_second(s), 100 * mfu(s, product_peak_), s.grad_norm, s.lr);
  if (s.expert_load > 0) text += fmt::format("   load {:.2f}", s.expert_load);
  if (s.validation_loss) text += fmt::format("   valid {:.4f}", *s.validation_loss);
  return text + "\n";
}

void TrainLog::add(int step, const StepRecord& s) {
  skipped_ += s.skipped ? 1 : 0;
  if (json_.is_open()) {
    JsonValue json = JsonValue::object();
    json.set("step", step).set("loss", number(s.loss)).set("grad_norm", number(s.grad_norm));
    json.set("lr", s.lr).set("seconds", s.seconds);
    json.set("tokens_per_s", tokens_per_second(s)).set("mfu", mfu(s, bf16_peak_));
    json.set("mfu_of_precision", mfu(s, product_peak_));
    json.set("expert_load", s.expert_load).set("skipped", s.skipped).set("skipped_steps", skipped_);
    if (!s.expert_loads.empty()) json.set("expert_loads", write_expert_loads(s.expert_loads));
    if (s.validation_loss) json.set("validation_loss", number(*s.validation_loss));
    json_ << json.dump(0) << '\n' << std::flush;
    if (!json_) throw_config_error(ExitCode::device_or_io, json_path_, "", "cannot write");
  }
  if (!events_) return;
  const auto f = [](double value) { return static_cast<float>(value); };
  if (s.validation_loss) events_->add(step, {{"validation_loss", f(*s.validation_loss)}});
  events_->add(step, {{"loss", f(s.loss)},
                      {"grad_norm", f(s.grad_norm)},
                      {"lr", f(s.lr)},
                      {"seconds", f(s.seconds)},
                      {"tokens_per_s", f(tokens_per_second(s))},
                      {"mfu", f(mfu(s, bf16_peak_))},
                      {"mfu_of_precision", f(mfu(s, product_peak_))},
                      {"expert_load", f(s.expert_load)},
                      {"skipped_steps", f(skipped_)}});
}

}  // namespace pleat
