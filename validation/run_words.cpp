// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "validation/run_words.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <string_view>

#include "core/plan/plan_words.hpp"
#include "core/spec/catalog.hpp"
#include "core/spec/expert_load.hpp"

namespace pleat {
namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Names of other runtimes for the same module.
std::string module_word(const std::string& word) {
  if (word == "norm") return "layernorm";
  if (word == "act") return "moe_act";
  if (word == "shared_expert") return "shared_experts";
  return word;
}

DType state_type(const std::string& word) {
  if (word == "bf16" || word == "bfloat16" || word == "fp16" || word == "float16") {
    return DType::bf16;
  }
  if (word == "fp8" || word == "uint8") return DType::fp8;
  return DType::fp32;
}

// "fine_grained:expert_fc1+moe_act"
void add_modules(std::string_view list, Plan& plan, WordProblems& problems) {
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find_first_of("+,", begin), list.size());
    const std::string word(list.substr(begin, end - begin));
    const auto found = std::find_if(kOffloads.begin(), kOffloads.end(),
                                    [&](Offload o) { return name_of(o) == word; });
    if (found != kOffloads.end()) plan.offload.insert(*found);
    else problems.notes.push_back("offload of " + word + " is left out");
    begin = end + 1;
  }
}

}  // namespace

Precision precision_of_word(const std::string& word, WordProblems& problems) {
  if (word == "fp32") return Precision::fp32;
  if (word == "fp16") return Precision::fp16;
  if (word == "bf16") return Precision::bf16;
  if (word == "fp8" || word == "fp8-current" || word == "fp8_current") return Precision::fp8;
  if (word == "fp8-delayed" || word == "fp8_delayed") return Precision::fp8_delayed;
  if (word == "fp8-block" || word == "fp8_block") return Precision::fp8_block;
  if (word == "mxfp8") return Precision::mxfp8;
  if (word == "nvfp4") return Precision::nvfp4;
  problems.unsupported.push_back("precision " + word);
  return Precision::bf16;
}

Sharding sharding_of_word(const std::string& word, WordProblems& problems) {
  if (word == "none" || has(word, "no distributed optimizer")) return Sharding::none;
  if (word == "zero1" || has(word, "distributed_optimizer")) return Sharding::zero1;
  if (has(word, "zero-3") || has(word, "zero3") || word == "fsdp" ||
      has(word, "optim_grads_params")) {
    return Sharding::zero3;
  }
  if (has(word, "zero-2") || has(word, "zero2") || has(word, "optim_grads")) return Sharding::zero2;
  if (has(word, "zero-1") || has(word, "optim")) return Sharding::zero1;
  problems.unsupported.push_back("sharding " + word);
  return Sharding::zero1;
}

Dispatcher dispatcher_of_word(const std::string& word, WordProblems& problems) {
  for (const Dispatcher d : kAll<Dispatcher>) {
    if (name_of(d) == word) return d;
  }
  if (word == "flex") return Dispatcher::deepep;
  problems.unsupported.push_back("dispatcher " + word);
  return Dispatcher::alltoall;
}

// Whole iterations, or some modules of each layer; "local" without a scope captures layer by layer.
CudaGraph cuda_graph_of_word(const std::string& word) {
  if (word == "none") return CudaGraph::none;
  if (has(word, "full_iteration")) return CudaGraph::full_iteration;
  if (word.ends_with(":attn")) return CudaGraph::attention;
  return has(word, "router") && !has(word, "attn") ? CudaGraph::router : CudaGraph::partial;
}

CpComm cp_comm_of_word(const std::string& word, WordProblems& problems) {
  if (word == "p2p") return CpComm::p2p;
  if (word == "a2a+p2p") return CpComm::a2a_p2p;
  if (word == "all_gather" || word == "allgather") return CpComm::all_gather;
  if (word == "a2a" || word == "all_to_all") return CpComm::all_to_all;
  problems.notes.push_back("context parallelism by " + word + " is taken as p2p");
  return CpComm::p2p;
}

PipelineSchedule schedule_of_word(const std::string& word, WordProblems& problems) {
  for (const PipelineSchedule s :
       {PipelineSchedule::one_f_one_b, PipelineSchedule::zb_h1, PipelineSchedule::zb_v,
        PipelineSchedule::dualpipe, PipelineSchedule::dualpipe_v}) {
    if (name_of(s) == word) return s;
  }
  problems.unsupported.push_back("schedule " + word);
  return PipelineSchedule::one_f_one_b;
}

void apply_recompute_words(const RecomputeWords& words, Plan& plan, WordProblems& problems) {
  if (words.granularity == "full") {
    plan.recompute_full = true;
    // "uniform" with one layer a unit is all of them; only a larger count says otherwise.
    return;
  }
  if (words.granularity == "none") return;
  for (const std::string& given : words.modules) {
    const std::string word = module_word(given);
    const auto found = std::find_if(kRecomputable.begin(), kRecomputable.end(),
                                    [&](Module m) { return name_of(m) == word; });
    if (found != kRecomputable.end()) plan.recompute.insert(*found);
    else problems.notes.push_back("recompute of " + given + " is left out");
  }
}

namespace {

// The number behind `key`, if it is there.
void read_after(const std::string& word, std::string_view key, double& value) {
  const std::size_t at = word.find(key);
  if (at == std::string::npos) return;
  std::from_chars(word.data() + at + key.size(), word.data() + word.size(), value);
}

}  // namespace

void apply_offload_words(const std::vector<std::string>& words, Plan& plan,
                         WordProblems& problems) {
  constexpr std::string_view kFine = "fine_grained:", kLayers = "cpu_activation_offload:";
  constexpr std::string_view kStash = "moe_paged_stash(";
  for (const std::string& word : words) {
    if (word == "none") continue;
    if (word.starts_with(kFine)) {
      add_modules(std::string_view(word).substr(kFine.size()), plan, problems);
    } else if (word.starts_with(kLayers)) {
      const char* const begin = word.data() + kLayers.size();
      std::from_chars(begin, word.data() + word.size(), plan.offload_layers);
    } else if (word.starts_with(kStash)) {
      plan.paged_stash = {.buffer = 1.1, .capacity = 1.5};  // Megatron's default; its recipes'
      read_after(word, "cuda_factor=", plan.paged_stash.buffer);
      read_after(word, "rank_capacity=", plan.paged_stash.capacity);
    } else {
      problems.notes.push_back(word + " is left out");
    }
  }
}

// Published timings begin at random weights: a router with a bias is even soon, others are not yet.
std::optional<double> expert_spread_of(const std::string& words, const ModelSpec& model) {
  if (words == "natural") {
    return model.moe && model.moe->expert_bias ? kAuxLossFreeSpread : kUntrainedSpread;
  }
  const auto found = std::ranges::find_if(
      kRouterTrainings, [&](const RouterTraining& r) { return words == r.word; });
  return found != kRouterTrainings.end() ? std::optional(found->spread) : std::nullopt;
}

void apply_routing_words(const std::string& words, const ModelSpec& model, WorkloadSpec& workload) {
  if (const std::optional<double> spread = expert_spread_of(words, model)) {
    workload.routing = Routing::natural;
    workload.expert_spread = *spread;
  }
  if (!has(words, "capacity")) return;
  const std::size_t digits = words.find_first_of("0123456789");
  workload.capacity_factor = 1.0;
  if (digits != std::string::npos) {
    std::from_chars(words.data() + digits, words.data() + words.size(), workload.capacity_factor);
  }
  workload.pad_to_capacity = has(words, "padded");
}

// What a run does not say: Megatron accumulates and reduces gradients in fp32; Megatron-Bridge's
// performance recipes do so in bf16. Those, NeMo's (bf16_with_fp8_mixed) and all published ones in
// MXFP8 keep FP8 weights in FP8: with bf16 ones beside them runs would not have fitted.
// Other types count with the precision-aware optimizer only.
void apply_optimizer_words(const OptimizerWords& words, const RecipeTypes& recipe, Plan& plan) {
  if (recipe.narrow_gradients) plan.optimizer.main_grads = DType::bf16;
  if (words.grad_reduce_fp32) {
    plan.optimizer.main_grads = *words.grad_reduce_fp32 ? DType::fp32 : DType::bf16;
  } else if (words.main_grads) {
    plan.optimizer.main_grads = state_type(*words.main_grads);
  }
  if (words.grad_reduce) plan.optimizer.grad_reduce = state_type(*words.grad_reduce);
  plan.fp8_params = words.fp8_param_gather.value_or(recipe.fp8_params);
  if (!words.precision_aware.value_or(false)) return;
  if (words.main_params) plan.optimizer.main_params = state_type(*words.main_params);
  if (words.exp_avg) plan.optimizer.exp_avg = state_type(*words.exp_avg);
  if (words.exp_avg_sq) plan.optimizer.exp_avg_sq = state_type(*words.exp_avg_sq);
}

namespace {

// "llama-3.1-405b" and "llama3.1-405b" are one name.
std::string letters_of(const std::string& name) {
  std::string letters;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.') {
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return letters;
}

std::string shipped_name(const std::string& name) {
  const std::vector<std::string> names = config_names(ConfigKind::model);
  if (std::find(names.begin(), names.end(), name) != names.end()) return name;
  for (const std::string& shipped : names) {
    if (letters_of(shipped) == letters_of(name)) return shipped;
  }
  return name;
}

ModelSpec read_inline(const MeasuredRun& run) {
  JsonValue config = run.model;
  // A learned position table is as long as the sequence where its length is left out.
  const JsonValue* type = config.find("model_type");
  if (type != nullptr && *type == JsonValue("gpt2") && config.find("n_positions") == nullptr) {
    const JsonValue* longest = config.find("max_position_embeddings");
    config.set("n_positions", longest != nullptr ? *longest : JsonValue(run.seq_len));
  }
  return read_hf_config(config.dump(), run.where + ": model", run.model_name).model;
}

}  // namespace

void cut_depth(ModelSpec& m, std::int64_t layers) {
  if (layers == m.layers) return;
  const auto depth = static_cast<std::size_t>(layers);
  const auto resize = [depth](auto& list) {
    if (!list.empty()) list.resize(depth, list.back());
  };
  m.layers = layers;
  resize(m.moe_layer);
  resize(m.layer_traits);
}

ModelSpec model_of_run(const MeasuredRun& run) {
  ModelSpec m = run.model.is_null() ? load_model(shipped_name(run.model_name)).model
                                    : read_inline(run);
  if (run.num_layers) cut_depth(m, *run.num_layers);
  if (run.mtp_layers) m.mtp_layers = *run.mtp_layers;
  if (run.dense_layers && m.moe) {
    for (std::int64_t l = 0; l < m.layers; ++l) {
      m.moe_layer[static_cast<std::size_t>(l)] = l >= *run.dense_layers;
    }
  }
  return m;
}

}  // namespace pleat
