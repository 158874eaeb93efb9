// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "validation/run_request.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <regex>

#include "core/diagnostics.hpp"
#include "core/plan/plan_switches.hpp"
#include "core/plan/dispatcher_traits.hpp"
#include "core/plan/layout_text.hpp"
#include "core/spec/catalog.hpp"
#include "validation/run_words.hpp"

namespace pleat {
namespace {

// "25.11" or "2026-07": year, separator, month.
std::optional<int> month_of(const std::string& text, char separator) {
  int year = 0, month = 0;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, year);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != separator) return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, month);
  if (second.ec != std::errc() || month < 1 || month > 12) return std::nullopt;
  return (year % 100) * 12 + month - 1;
}

// "Parallel Folding (2504.14960)": an arXiv number begins with year and month.
std::optional<int> month_of_paper(const std::string& text) {
  static const std::regex number(R"(\((\d\d)(0[1-9]|1[0-2])\.\d{5}\))");
  std::smatch found;
  if (!std::regex_search(text, found, number)) return std::nullopt;
  return std::stoi(found[1]) * 12 + std::stoi(found[2]) - 1;
}

// "mlperf-v3.1" of "nemo-24.05 (MLPerf v3.1, 23.09)", the software of a round's own submission.
// With another submitter's name in place of the container's release it ran what its release says.
std::string mlperf_round_of(const std::string& era) {
  static const std::regex round(R"(\(MLPerf (v\d+\.\d+)(, \d\d\.\d\d)?\)$)");
  std::smatch found;
  return std::regex_search(era, found, round) ? "mlperf-" + found.str(1) : std::string();
}

}  // namespace

std::optional<int> month_of_era(const std::string& era) {
  if (era.starts_with("nemo-")) return month_of(era.substr(5), '.');
  if (era.starts_with("main-")) return month_of(era.substr(5), '-');
  return month_of_paper(era);
}

Profile profile_of_era(const Profile& profile, const std::string& era) {
  for (const std::string& name : {era, mlperf_round_of(era)}) {
    const auto found = std::ranges::find(profile.eras, name, &Era::name);
    if (found != profile.eras.end()) return for_era(profile, name);
  }
  const std::optional<int> month = month_of_era(era);
  const Era* last = nullptr;
  std::optional<int> last_month;
  for (const Era& e : profile.eras) {
    const std::optional<int> begins = month_of_era(e.name);
    if (!month || !begins || *begins > *month || (last_month && *begins < *last_month)) continue;
    last = &e;
    last_month = begins;
  }
  return last == nullptr ? profile : for_era(profile, last->name);
}

namespace {

// What a runtime does when a run does not say.
struct Defaults {
  Sharding sharding = Sharding::zero1;  // DDP with the distributed optimizer
  bool overlap = true;                  // of gradients and parameters
  bool sequence_parallel = true;
  bool flash_attention = true;
  DType main_grads = DType::fp32;
};

Defaults defaults_of(const MeasuredRun& run) {
  const auto era_has = [&](const char* part) { return run.era.find(part) != std::string::npos; };
  // Megatron-LM of 2021 had neither sequence parallelism nor a distributed optimizer; that of 2022
  // (arXiv:2205.05198) brought the former. Neither overlapped gradients with the backward pass, nor
  // had FlashAttention. Both ran in fp16, for which neither Megatron
  // (accumulate_allreduce_grads_in_fp32 is set by --bf16 alone) nor DeepSpeed's FP16_Optimizer
  // widens the gradients it accumulates and reduces.
  if (era_has("2104.04473")) return {Sharding::none, false, false, false, DType::bf16};
  if (era_has("2205.05198")) return {Sharding::none, false, true, false, DType::bf16};
  if (run.runtime == "megatron-deepspeed") {
    return {Sharding::none, false, false, false, DType::bf16};
  }
  return {};
}

// Megatron-Bridge's performance recipes, which NeMo's releases run since 25.09.
bool is_bridge(const std::string& era) {
  return era.starts_with("nemo-25.09") || era.starts_with("nemo-25.11") ||
         era.starts_with("nemo-26");
}

// What the row states, else what the runtime does by default.
void set_switches(const PlanWords& words, const Defaults& defaults, RunRequest& r) {
  Plan& p = r.plan;
  p.sequence_parallel = defaults.sequence_parallel;
  p.flash_attention = defaults.flash_attention;
  p.overlap.grad_reduce = p.overlap.param_gather = defaults.overlap;
  for_each_switch([&](auto i) {
    if (words.switches[i]) kPlanField<i>.in(p) = *words.switches[i];
  });
  const bool shares = r.model.moe && r.model.moe->shared_ffn > 0;
  p.overlap.tensor_parallel = p.overlap.tensor_parallel && p.attention.tp > 1;
  p.overlap.shared_expert = p.overlap.shared_expert && shares;
}

// Degrees; what is not stated is 1 or open.
void set_degrees(const MeasuredRun& run, RunRequest& r) {
  const PlanWords& words = run.plan;
  Plan& p = r.plan;
  p.attention = {.tp = words.tp.value_or(1), .cp = words.cp.value_or(1), .dp = 1,
                 .pp = words.pp.value_or(1)};
  p.micro_batch = words.micro_batch.value_or(1);
  p.vpp = words.vpp.value_or(1);
  if (words.layout) {
    p.layout = *words.layout;
    const bool readable = check_layout_syntax(p.layout).problem == nullptr;
    if (readable && !words.vpp) {
      const auto stages = read_layout_facts(p.layout).stages;
      p.vpp = std::max(1, static_cast<int>(stages / p.attention.pp));
    }
  }
  r.open.tp = !words.tp;
  r.open.pp = !words.pp;
  // Megatron-DeepSpeed and the Megatron of 2021 and 2022 papers that say nothing do not interleave.
  const bool interleaves = month_of_era(run.era).value_or(0) >= 23 * 12;
  r.open.vpp = !words.vpp && !words.layout && run.runtime == "megatron" && interleaves;
  if (!r.model.moe) {
    if (words.ep.value_or(1) > 1) r.notes.push_back("EP of a dense model is left out");
    return;
  }
  r.open.ep = !words.ep;
  r.etp_open = !words.etp;
  p.expert = {.etp = words.etp.value_or(1), .ep = words.ep.value_or(1), .edp = 1};
}

void set_plan(const MeasuredRun& run, RunRequest& r, WordProblems& problems) {
  const PlanWords& words = run.plan;
  const Defaults defaults = defaults_of(run);
  Plan& p = r.plan;
  set_degrees(run, r);
  set_switches(words, defaults, r);
  if (words.precision) p.precision = precision_of_word(*words.precision, problems);
  p.sharding =
      words.sharding ? sharding_of_word(*words.sharding, problems) : defaults.sharding;
  // A shard group is stated for Megatron-FSDP only.
  if (!words.sharding && words.fsdp_group.value_or(0) > 1) p.sharding = Sharding::zero3;
  if (words.dispatcher) p.dispatcher = dispatcher_of_word(*words.dispatcher, problems);
  if (words.cuda_graph) p.cuda_graph = cuda_graph_of_word(*words.cuda_graph);
  if (words.cp_comm) p.cp_comm = cp_comm_of_word(*words.cp_comm, problems);
  const bool shards = p.sharding == Sharding::zero2 || p.sharding == Sharding::zero3;
  if (shards) p.fsdp_group = words.fsdp_group.value_or(0);
  if (p.sharding == Sharding::zero1) {
    p.optimizer_instances = words.optimizer_instances.value_or(1);
  }
  p.cp_a2a = p.cp_comm == CpComm::a2a_p2p ? words.cp_a2a.value_or(0) : 0;
  p.ddp_bucket_size = words.ddp_bucket_size.value_or(0);
  if (words.schedule) p.schedule = schedule_of_word(*words.schedule, problems);
  if (is_fused(p.dispatcher)) {
    p.dispatcher_sms = words.dispatcher_sms.value_or(0);
  }
  r.open.recompute = !words.recompute;
  r.open.sharding = !words.sharding && p.sharding == Sharding::zero1;
  r.open.offload = r.open.recompute && words.offload.empty() && is_bridge(run.era);
  if (words.recompute) apply_recompute_words(*words.recompute, p, problems);
  apply_offload_words(words.offload, p, problems);
  const RecipeTypes recipe{
      .narrow_gradients = is_bridge(run.era),
      .fp8_params = run.era.starts_with("nemo-") || p.precision == Precision::mxfp8};
  p.optimizer.main_grads = defaults.main_grads;
  apply_optimizer_words(words.optimizer, recipe, p);
  // Rows say this in words; Megatron-Bridge's DeepSeek-V3 recipes with it have an FP8 head too.
  if (run.notes.find("fp8_dot_product_attention") != std::string::npos) {
    p.fp8_attention = true;
    p.fp8_head = p.fp8_head || run.model_name == "deepseek-v3";
  }
}

// "no model named …; did you mean …?" without the rest.
std::string first_problem(const ConfigError& e) {
  const Diagnostic& d = e.diagnostics().front();
  return (d.path.empty() ? "" : d.path + ": ") + d.message;
}

}  // namespace

void fill_data_parallel(RunRequest& r, Plan& p) {
  const auto rest = [&r](std::int64_t used) {
    return static_cast<int>(std::max<std::int64_t>(1, r.gpus / std::max<std::int64_t>(1, used)));
  };
  const AttentionMapping& a = p.attention;
  p.attention.dp = rest(std::int64_t{1} * a.tp * a.cp * a.pp);
  // Some sources count the ranks of tensor parallelism in the group too.
  if (p.fsdp_group > p.attention.dp * a.cp) p.fsdp_group = 0;
  if (!r.model.moe) {
    p.expert = {.etp = 1, .ep = 1, .edp = rest(a.pp)};
    return;
  }
  if (r.etp_open) {  // Megatron's default, where it fits
    const std::int64_t grid = std::int64_t{1} * a.tp * p.expert.ep * a.pp;
    p.expert.etp = r.gpus % grid == 0 && r.model.moe->ffn % a.tp == 0 ? a.tp : 1;
  }
  p.expert.edp = rest(std::int64_t{1} * p.expert.etp * p.expert.ep * a.pp);
}

Profile without_runs(const Profile& profile) {
  const Profile round =
      datasheet_profile(profile.cluster, profile.collectives.size(), profile.runtime);
  Profile p = profile;
  static_cast<RunConstants&>(p) = round;
  p.eras.clear();
  for (std::size_t i = 0; i < kKernelClasses; ++i) {
    if (!counts_flops(static_cast<KernelClass>(i))) p.kernels[i] = round.kernels[i];
  }
  p.relative_band = 0.4;  // 8 of 10 published runs are inside (docs/validation-notes.md)
  return p;
}

RunCatalog::RunCatalog(const std::vector<std::string>& profile_files) {
  for (const std::string& file : profile_files) given_.push_back(load_profile(file));
}

RunCatalog::RunCatalog(Profile profile, ClusterSpec cluster) {
  given_.push_back(std::move(profile));
  clusters_.emplace(cluster.name, std::move(cluster));
}

const ModelSpec& RunCatalog::model(const MeasuredRun& run) {
  const auto number = [](const std::optional<std::int64_t>& n) {
    return n ? std::to_string(*n) : std::string("-");
  };
  const std::string key =
      fmt::format("{}|{}|{}|{}|{}|{}", run.model_name, run.model.dump(0), run.seq_len,
                  number(run.num_layers), number(run.mtp_layers), number(run.dense_layers));
  const auto found = models_.find(key);
  if (found != models_.end()) return found->second;
  return models_.emplace(key, model_of_run(run)).first->second;
}

const ClusterSpec& RunCatalog::cluster(const std::string& name) {
  const auto found = clusters_.find(name);
  if (found != clusters_.end()) return found->second;
  return clusters_.emplace(name, load_cluster(name)).first->second;
}

const Profile& RunCatalog::profile(const ClusterSpec& cluster, const MeasuredRun& run) {
  const std::string key =
      fmt::format("{}|{}|{}", cluster.name, run.era, run.unbound_ranks ? "unbound" : "");
  const auto found = profiles_.find(key);
  if (found != profiles_.end()) return found->second;
  Profile of_run = profile_of_era(profile(cluster), run.era);
  if (run.unbound_ranks) slow_host(of_run, of_run.unbound_host);
  return profiles_.emplace(key, std::move(of_run)).first->second;
}

const Profile& RunCatalog::profile(const ClusterSpec& cluster) {
  const auto found = profiles_.find(cluster.name);
  if (found != profiles_.end()) return found->second;
  const auto given = std::find_if(given_.begin(), given_.end(), [&](const Profile& p) {
    return p.cluster == cluster.name && p.runtime == Runtime::megatron;
  });
  Profile profile;
  if (knowledge_ == Knowledge::datasheet) {
    profile = datasheet_profile(cluster.name, cluster.tiers.size(), Runtime::megatron);
  } else if (given != given_.end()) {
    profile = *given;
  } else if (auto shipped = find_newest_profile(cluster.name, Runtime::megatron)) {
    profile = std::move(shipped->profile);
  } else {
    profile = datasheet_profile(cluster.name, cluster.tiers.size(), Runtime::megatron);
  }
  if (knowledge_ == Knowledge::tables) profile = without_runs(profile);
  return profiles_.emplace(cluster.name, std::move(profile)).first->second;
}

PreparedRun RunCatalog::prepare(const MeasuredRun& run) {
  RunRequest r;
  WordProblems problems;
  try {
    r.model = model(run);
    r.cluster = &cluster(run.cluster);
    r.profile = &profile(*r.cluster, run);
  } catch (const ConfigError& e) {
    return {std::nullopt, first_problem(e)};
  }
  r.gpus = run.gpus;
  r.workload = {.seq_len = run.seq_len, .global_batch = run.global_batch};
  if (run.routing) apply_routing_words(*run.routing, r.model, r.workload);
  set_plan(run, r, problems);
  if (!problems.unsupported.empty()) {
    return {std::nullopt, fmt::format("not modelled: {}", fmt::join(problems.unsupported, ", "))};
  }
  r.notes.insert(r.notes.end(), problems.notes.begin(), problems.notes.end());
  fill_data_parallel(r, r.plan);
  return {std::move(r), ""};
}

}  // namespace pleat
