// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/options/run_options.hpp"

#include <CLI/CLI.hpp>

#include "cli/option_checks.hpp"
#include "cli/option_choices.hpp"

namespace pleat::cli {

void add_process_options(CLI::App& command, ProcessOptions& o) {
  const auto add = [&](const char* name, auto& value, const char* what) {
    return command.add_option(name, value, what)->group("Processes");
  };
  add("--transport", o.transport,
      "threads: all ranks in this process; mpi: one of mpirun's processes; tcp: one of a "
      "launcher's, or processes started here; auto: as the launcher says, else threads")
      ->capture_default_str()
      ->check(one_of({"auto", "threads", "mpi", "tcp"}));
  add("--ranks", o.ranks, "Ranks of each process (default: all processes share them evenly)")
      ->check(in_range(1, 1 << 20));
  add("--process", o.flags.process, "I/N: this is process I of N, counted from 0");
  add("--rendezvous", o.flags.rendezvous,
      "HOST:PORT where process 0 listens (default: MASTER_ADDR, MASTER_PORT)");
  add("--rendezvous-timeout", o.meeting_seconds, "Seconds for all processes to come")
      ->capture_default_str()
      ->check(in_range(1.0, 86'400.0));
  add("--lost-timeout", o.lost_seconds, "Seconds of silence after which a process is lost")
      ->capture_default_str()
      ->check(in_range(2.0, 86'400.0));
  add("--stall-timeout", o.stall_seconds,
      "Seconds without any progress after which all ranks end and say where they wait")
      ->capture_default_str()
      ->check(in_range(5.0, 86'400.0));
}

void add_device_options(CLI::App& command, DeviceOptions& o) {
  command.add_option("--device", o.device, "What ranks compute on: cpu, or cuda for NVIDIA GPUs")
      ->capture_default_str()
      ->check(CLI::IsMember({"cpu", "cuda"}));
  command
      .add_option(
          "--collectives", o.collectives,
          "Between GPUs: direct (threads by their GPUs' memory, processes by the host), or nccl, "
          "which needs a GPU for each rank")
      ->capture_default_str()
      ->check(CLI::IsMember({"direct", "nccl"}));
  command.add_flag("--ordered-sums", o.ordered_sums,
                   "With nccl: add in the order of ranks, for the same bits as direct");
  command.add_flag(
      "--symmetric-windows", o.symmetric_windows,
      "With nccl: what collectives run on again and again lies in symmetric windows (NCCL 2.27)");
  command.add_flag(
      "--any-order-attention", o.any_order_attention,
      "With cuda: attention's backward pass may add in any order, which is faster and gives "
      "other bits every time");
}

void add_optimizer_options(CLI::App& command, OptimizerOptions& o) {
  const auto number = [&](const char* name, double& value, const char* what, double most) {
    command.add_option(name, value, what)->capture_default_str()->check(in_range(0.0, most));
  };
  const auto count = [&](const char* name, auto& value, const char* what) {
    return command.add_option(name, value, what)
        ->check(in_range(std::int64_t{0}, std::int64_t{1'000'000'000}));
  };
  number("--lr", o.lr, "Learning rate, the highest of its schedule", 1);
  number("--min-lr", o.min_lr, "The lowest, at the end of its decay", 1);
  command
      .add_option("--lr-decay-style", o.decay_style,
                  "constant, linear, cosine, inverse-square-root or WSD (warm-up, stable, decay)")
      ->check(offers({"constant", "linear", "cosine", "inverse-square-root", "WSD"}))
      ->capture_default_str();
  count("--lr-decay-iters", o.decay_iters,
        "Steps until --min-lr, the warm-up's too (default: --steps)");
  count("--lr-warmup-iters", o.warmup_iters, "Steps from --lr-warmup-init up to --lr")
      ->capture_default_str();
  number("--lr-warmup-init", o.warmup_init, "Learning rate of the first step of a warm-up", 1);
  count("--lr-wsd-decay-iters", o.wsd_decay_iters, "WSD: the last steps, in which it goes down");
  command
      .add_option("--lr-wsd-decay-style", o.wsd_decay_style,
                  "WSD: exponential, linear, cosine or minus_sqrt")
      ->check(offers({"exponential", "linear", "cosine", "minus_sqrt"}))
      ->capture_default_str();
  number("--weight-decay", o.weight_decay, "Weight decay; norms and biases have none", 10);
  command.add_flag("--no-weight-decay-embeddings", o.tables_without_decay,
                   "Embeddings have none either");
  number("--clip-grad", o.clip_grad, "Norm that gradients are clipped to; 0: they are not", 1e9);
  number("--adam-beta1", o.beta1, "AdamW: decay of the mean", 1);
  number("--adam-beta2", o.beta2, "AdamW: decay of the mean square", 1);
  number("--adam-eps", o.eps, "AdamW: added to the root", 1);
  number("--sgd-momentum", o.sgd_momentum, "SGD: share of the last step", 1);
  number("--muon-momentum", o.muon_momentum, "Muon: decay of the mean", 1);
  command.add_flag("--muon-nesterov", o.muon_nesterov, "Muon: Nesterov's momentum");
  command
      .add_option("--muon-scale-mode", o.muon_scale,
                  "Muon: steps times sqrt(max(rows, columns)) (spectral), sqrt(rows / columns) "
                  "(unit_rms_norm), or that and at least 1 (shape_scaling)")
      ->check(offers({"spectral", "unit_rms_norm", "shape_scaling"}))
      ->capture_default_str();
  number("--muon-extra-scale-factor", o.muon_extra_scale, "Muon: times this", 1e6);
}

}  // namespace pleat::cli
