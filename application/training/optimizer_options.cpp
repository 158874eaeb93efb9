// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/training/optimizer_options.hpp"

#include <fmt/format.h>

#include <array>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

constexpr std::array kDecays{LrDecay::constant, LrDecay::linear, LrDecay::cosine,
                             LrDecay::inverse_square_root, LrDecay::wsd};
constexpr std::array kWsdDecays{WsdDecay::exponential, WsdDecay::linear, WsdDecay::cosine,
                                WsdDecay::minus_sqrt};
constexpr std::array kMuonScales{MuonScale::spectral, MuonScale::unit_rms_norm,
                                 MuonScale::shape_scaling};

template <class List>
auto named(const List& list, const std::string& name, const char* option) {
  std::string names;
  for (const auto value : list) {
    if (name == name_of(value)) return value;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(value));
  }
  throw_config_error(ExitCode::bad_request, "", option, fmt::format("there is no '{}'", name),
                     fmt::format("one of {}", names));
}

void require(bool holds, const char* option, const std::string& message, const std::string& hint) {
  if (!holds) throw_config_error(ExitCode::bad_request, "", option, message, hint);
}

}  // namespace

void set_optimizer(const OptimizerOptions& o, int steps, TrainConfig& config) {
  LrSchedule s;
  s.decay = named(kDecays, o.decay_style, "--lr-decay-style");
  s.wsd_decay = named(kWsdDecays, o.wsd_decay_style, "--lr-wsd-decay-style");
  s.start = o.warmup_init;
  s.lowest = o.min_lr;
  s.warmup_updates = o.warmup_iters;
  s.decay_updates = o.decay_iters.value_or(steps);
  s.wsd_decay_updates = o.wsd_decay_iters;
  require(o.min_lr <= o.lr, "--min-lr", fmt::format("{} is above --lr {}", o.min_lr, o.lr), "");
  require(o.warmup_init <= o.lr, "--lr-warmup-init",
          fmt::format("{} is above --lr {}", o.warmup_init, o.lr), "");
  if (s.decay != LrDecay::constant) {
    require(s.warmup_updates < s.decay_updates, "--lr-warmup-iters",
            fmt::format("the warm-up takes {} of {} steps", s.warmup_updates, s.decay_updates),
            "fewer, or more --lr-decay-iters");
  }
  if (s.decay == LrDecay::wsd) {
    const std::int64_t most = s.decay_updates - s.warmup_updates;
    require(s.wsd_decay_updates >= 1 && s.wsd_decay_updates <= most, "--lr-wsd-decay-iters",
            fmt::format("WSD goes down in {} of {} steps", s.wsd_decay_updates, s.decay_updates),
            fmt::format("1 to {}", most));
  }
  require(o.beta1 < 1 && o.beta2 < 1, o.beta1 < 1 ? "--adam-beta2" : "--adam-beta1",
          "1 would never take a gradient in", "below 1");
  config.schedule = s;
  config.adamw = {
      .lr = o.lr, .beta1 = o.beta1, .beta2 = o.beta2, .eps = o.eps, .weight_decay = o.weight_decay};
  config.tables_decay = !o.tables_without_decay;
  config.clip_norm = o.clip_grad;
  config.momentum = o.sgd_momentum;
  config.muon = {o.muon_momentum, o.muon_nesterov,
                 named(kMuonScales, o.muon_scale, "--muon-scale-mode"), o.muon_extra_scale};
}

std::string optimizer_text(const TrainConfig& c) {
  const AdamW& a = c.adamw;
  const LrSchedule& s = c.schedule;
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", a.lr, a.beta1,
                     a.beta2, a.eps, a.weight_decay, name_of(s.decay), s.start, s.lowest,
                     s.warmup_updates, s.decay_updates, s.wsd_decay_updates, name_of(s.wsd_decay),
                     c.tables_decay, c.momentum, c.clip_norm, c.muon.momentum, c.muon.nesterov,
                     name_of(c.muon.scale), c.muon.extra_scale);
}

}  // namespace pleat
