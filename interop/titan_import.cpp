// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Keys of torchtitan 0.1 to 0.2.2 (config/job_config.py), of earlier TOML files as its repository
// has them, and of 0.3.0 (config/configs.py), whose command line names a configuration in Python.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/plan/layout.hpp"
#include "core/spec/catalog.hpp"
#include "interop/flag_table.hpp"
#include "interop/keyed_import.hpp"

namespace pleat::interop {
namespace {

using T = const KeyReader&;

// What a configuration of 0.3.0 sets (models/*/config_registry.py); the rest has usual values.
struct TitanConfig {
  const char* name;
  const char* model;  // of the catalog
  int local_batch;
  std::int64_t seq_len;
  int tp, ep;
  const char* recompute;
};
constexpr auto kTitanConfigs = std::to_array<TitanConfig>({
    {"llama3_8b", "llama3-8b", 1, 8192, 1, 1, "selective"},
    {"llama3_70b", "llama3-70b", 8, 8192, 8, 1, "full"},
    {"deepseek_v3_671b", "deepseek-v3", 4, 4096, 1, 2, "selective"},
    {"gpt_oss_20b", "gpt-oss-20b", 1, 8192, 1, 1, "full"},
    {"gpt_oss_120b", "gpt-oss-120b", 1, 8192, 1, 1, "full"},
    {"qwen3_30b_a3b", "qwen3-30b-a3b", 2, 4096, 1, 1, "full"},
    {"moonlight_16b_a3b", "moonlight-16b-a3b", 4, 4096, 1, 8, "full"},
    {"qwen35_35b_a3b", "qwen3.5-35b-a3b", 4, 4096, 2, 8, "full"},
    {"qwen35_122b_a10b", "qwen3.5-122b-a10b", 4, 4096, 4, 8, "full"},
    {"qwen35_397b_a17b", "qwen3.5-397b-a17b", 4, 4096, 8, 16, "full"},
});

// model.name and model.flavor of a TOML file (models/*/__init__.py of 0.2.2).
struct TitanFlavor {
  const char* name;
  const char* flavor;
  const char* model;
};
constexpr auto kTitanFlavors = std::to_array<TitanFlavor>({
    {"llama3", "8B", "llama3-8b"},
    {"llama3", "70B", "llama3-70b"},
    {"llama3", "405B", "llama3.1-405b"},
    {"llama4", "17bx16e", "llama4-scout"},
    {"llama4", "17bx128e", "llama4-maverick"},
    {"deepseek_v3", "671B", "deepseek-v3"},
    {"gpt_oss", "20b", "gpt-oss-20b"},
    {"gpt_oss", "120b", "gpt-oss-120b"},
    {"qwen3", "8B", "qwen3-8b"},
    {"qwen3", "30B-A3B", "qwen3-30b-a3b"},
    {"qwen3", "235B-A22B", "qwen3-235b-a22b"},
});

const char* const kTitanModelHint = "--model NAME or FILE names one of Pleat's or a config.json";

class TitanImport {
 public:
  TitanImport(T r, const ImportChoices& choices) : r_(r), choices_(choices) {}

  ImportedRun run() {
    const auto name = r_.text("config");
    newer_ = name.has_value() || r_.text("module").has_value();
    if (name) {
      for (const TitanConfig& c : kTitanConfigs)
        if (*name == c.name) config_ = &c;
    }
    read_model();
    read_degrees();
    read_pipeline();
    read_batch();
    read_rest();
    return std::move(out_);
  }

 private:
  [[nodiscard]] Plan& plan() { return out_.document.plan; }

  void take_model(const char* name) {
    out_.document.model = load_model(name).model;
    out_.document.model_name = name;
  }

  void read_model() {
    PlanDocument& d = out_.document;
    const std::string name = r_.text("model.name").value_or("llama3");
    const std::string flavor = r_.text("model.flavor").value_or("");
    if (choices_.model) {
      d.model = *choices_.model;
      d.model_name = d.model.name;
    } else if (newer_) {
      if (config_ == nullptr)
        r_.problem("config", "'" + r_.text("config").value_or("") + "' is not known",
                   kTitanModelHint);
      else
        take_model(config_->model);
    } else {
      for (const TitanFlavor& f : kTitanFlavors)
        if (name == f.name && flavor == f.flavor) take_model(f.model);
      if (d.model.layers == 0)
        r_.problem("model.flavor", fmt::format("'{}' of '{}' is not known", flavor, name),
                   kTitanModelHint);
    }
    r_.problems().throw_if_errors();
    if (d.model.mtp_layers > 0) {
      d.model.mtp_layers = 0;
      out_.assumed.push_back("model without prediction layers, as torchtitan trains it");
    }
  }

  // What is not in a command line is what the configuration that it names says.
  int of_config(const std::string& path, int said) {
    if (config_ != nullptr && !r_.text(path))
      out_.assumed.push_back(fmt::format("{} {}, of {}", path, said, config_->name));
    return r_.degree(path, said);
  }

  void read_degrees() {
    Plan& p = plan();
    AttentionMapping& a = p.attention;
    const bool moe = out_.document.model.moe.has_value();
    a.tp = of_config("parallelism.tensor_parallel_degree", config_ != nullptr ? config_->tp : 1);
    a.cp = r_.degree("parallelism.context_parallel_degree");
    a.pp = r_.degree("parallelism.pipeline_parallel_degree");
    const int copies = r_.degree("parallelism.data_parallel_replicate_degree");
    const std::string shard = r_.text("parallelism.data_parallel_shard_degree").value_or("-1");
    const std::int64_t rest = std::int64_t{a.tp} * a.cp * a.pp * copies;
    const int shards = shard == "-1" ? 0 : r_.degree("parallelism.data_parallel_shard_degree");
    std::int64_t world = choices_.gpus;
    if (world == 0) world = r_.integer("world_size", 1 << 20).value_or(0);
    if (world == 0) world = rest * shards;
    if (world == 0 || world > 1 << 20)
      r_.problem("parallelism.data_parallel_shard_degree", "is what is left of the GPUs",
                 "--gpus N");
    else if (world % (rest * std::max(shards, 1)) != 0 || (shards > 0 && world != rest * shards))
      r_.problem("parallelism", fmt::format("the degrees are not those of {} GPUs", world),
                 "--gpus N, the product of the degrees");
    r_.problems().throw_if_errors();
    const int sharded = static_cast<int>(shards > 0 ? shards : world / rest);
    a.dp = copies * sharded;
    out_.document.gpus = static_cast<int>(world);
    // Context-parallel ranks are sharded over with the data-parallel ones.
    const std::string reshard =
        r_.text("parallelism.fsdp_reshard_after_forward").value_or("default");
    const bool fsdp = sharded * a.cp > 1 || reshard != "default";
    p.sharding = !fsdp                                                      ? Sharding::none
                 : reshard == "always" || (reshard != "never" && a.pp == 1) ? Sharding::zero3
                                                                            : Sharding::zero2;
    if (fsdp && copies > 1) p.fsdp_group = sharded * a.cp;
    p.expert.ep = 1;
    p.expert.etp = 1;
    const int ep =
        moe ? of_config("parallelism.expert_parallel_degree", config_ != nullptr ? config_->ep : 1)
            : r_.degree("parallelism.expert_parallel_degree");
    const int etp = r_.degree("parallelism.expert_tensor_parallel_degree");
    if (moe) p.expert.ep = ep, p.expert.etp = etp;
    p.expert.edp = static_cast<int>(
        std::max<std::int64_t>(1, world / (std::int64_t{p.expert.ep} * p.expert.etp * a.pp)));
    p.sequence_parallel = r_.is_on("parallelism.enable_sequence_parallel", true) && a.tp > 1;
    const std::string rotate =
        r_.text("parallelism.context_parallel_rotate_method").value_or("allgather");
    if (a.cp > 1) p.cp_comm = rotate == "alltoall" ? CpComm::p2p : CpComm::all_gather;
  }

  // Layers of each chunk as generate_llm_fqn_per_model_part has them.
  void read_layers(std::int64_t first, std::int64_t last) {
    Plan& p = plan();
    const ModelSpec& m = out_.document.model;
    const std::int64_t stages = std::int64_t{p.attention.pp} * p.vpp;
    const std::int64_t counted = m.layers + first + last;
    const std::int64_t each = counted / stages, more = counted % stages;
    if (each == 0 || first > each || last > each) {
      r_.problem("parallelism.pipeline_parallel_layers_per_stage",
                 fmt::format("{} layers are too few for {} chunks", m.layers, stages));
      return;
    }
    std::vector<VirtualStage> split(static_cast<std::size_t>(stages));
    std::int64_t at = 0;
    for (std::int64_t i = 0; i < stages; ++i) {
      VirtualStage& s = split[static_cast<std::size_t>(i)];
      s.layers = each + (i < more ? 1 : 0) - (i == 0 ? first : 0) - (i == stages - 1 ? last : 0);
      s.layers = std::min(s.layers, m.layers - at);
      s.first_layer = at;
      at += s.layers;
    }
    split.front().embedding = true;
    split.back().loss = true;
    if (split != even_layout(m.layers, false, p.attention.pp, p.vpp))
      p.layout = to_layout_string(split);
  }

  void read_pipeline() {
    Plan& p = plan();
    const std::string order = r_.text("parallelism.pipeline_parallel_schedule").value_or("1F1B");
    const auto less = [&](const char* path) { return r_.integer(path, 1 << 16).value_or(1); };
    const std::int64_t first = less("parallelism.pipeline_parallel_first_stage_less_layers");
    const std::int64_t last = less("parallelism.pipeline_parallel_last_stage_less_layers");
    const auto each = r_.integer("parallelism.pipeline_parallel_layers_per_stage", 1 << 16);
    const auto micro = r_.integer("parallelism.pipeline_parallel_microbatch_size", 1 << 20);
    for (const char* path :
         {"parallelism.module_fqns_per_model_part", "parallelism.pipeline_parallel_split_points",
          "parallelism.pipeline_parallel_schedule_csv"}) {
      const bool given = !r_.list(path).empty();
      if (p.attention.pp > 1 && given)
        r_.problem(path, "cannot be predicted: stages and orders of one's own are not read");
    }
    if (p.attention.pp == 1) return;
    const bool v = order == "ZBVZeroBubble" || order == "DualPipeV";
    if (v)
      p.schedule = order == "DualPipeV" ? PipelineSchedule::dualpipe_v : PipelineSchedule::zb_v;
    else if (order != "1F1B" && order != "Interleaved1F1B")
      r_.problem("parallelism.pipeline_parallel_schedule",
                 "'" + order + "' has no counterpart in a plan",
                 "1F1B, Interleaved1F1B, ZBVZeroBubble or DualPipeV");
    p.vpp = order == "1F1B" ? 1 : 2;
    if (each.value_or(0) > 0) {
      const std::int64_t counted = out_.document.model.layers + first + last;
      const std::int64_t stages = (counted + *each - 1) / *each;
      if (stages % p.attention.pp != 0)
        r_.problem(
            "parallelism.pipeline_parallel_layers_per_stage",
            fmt::format("{} chunks are not a multiple of {} stages", stages, p.attention.pp));
      p.vpp = static_cast<int>(std::max<std::int64_t>(1, stages / p.attention.pp));
    }
    p.micro_batch = static_cast<int>(micro.value_or(1));
    read_layers(first, last);
  }

  // A data-parallel rank has local_batch_size sequences at once: its microbatch, or with a
  // pipeline what its microbatches are cut from.
  void read_batch() {
    Plan& p = plan();
    WorkloadSpec& w = out_.document.workload;
    const char* const older = "training.batch_size";  // before 0.1
    const char* const path = r_.text(older) ? older : "training.local_batch_size";
    const int local = of_config(path, config_ != nullptr ? config_->local_batch : 8);
    const char* const batch = "training.global_batch_size";
    const std::string said = r_.text(batch).value_or("-1");
    w.global_batch = said == "-1" ? std::int64_t{local} * p.attention.dp
                                  : r_.integer(batch, std::int64_t{1} << 40).value_or(1);
    const std::int64_t at_once = std::int64_t{local} * p.attention.dp;
    if (w.global_batch < 1 || w.global_batch % at_once != 0)
      r_.problem(batch, fmt::format("is no multiple of {}, what the ranks have at once", at_once));
    if (p.attention.pp == 1) {
      p.micro_batch = local;
    } else if (w.global_batch > at_once) {
      r_.problem(path,
                 fmt::format("cannot be predicted: the pipeline is filled and drained {} times a "
                             "step, which no plan says",
                             w.global_batch / at_once),
                 fmt::format("{}, the global batch over the data-parallel ranks",
                             w.global_batch / p.attention.dp));
    }
    w.seq_len =
        r_.integer("training.seq_len").value_or(config_ != nullptr ? config_->seq_len : 2048);
    if (config_ != nullptr && !r_.text("training.seq_len"))
      out_.assumed.push_back(fmt::format("training.seq_len {}, of {}", w.seq_len, config_->name));
    const bool forced = r_.is_on("debug.moe_force_load_balance") ||
                        r_.is_on("training.debug_moe_force_load_balance");
    if (out_.document.model.moe) {
      out_.assumed.push_back(forced ? "routing forced, as the run's"
                                    : "routing forced; the run's own was not");
    }
  }

  void read_precision() {
    Plan& p = plan();
    const std::string type = r_.text("training.mixed_precision_param").value_or("bfloat16");
    p.precision = type == "float32" ? Precision::fp32 : Precision::bf16;
    if (r_.text("training.dtype").value_or("float32") == "bfloat16")
      r_.problem("training.dtype",
                 "cannot be predicted: weights and optimizer states all in bf16 are no plan's",
                 "float32");
    bool products = false, experts = false, narrow = false;
    for (const std::string& c : r_.list("model.converters")) {
      if (c.find("float8") == std::string::npos && !c.starts_with("mx") &&
          c.find(".mx") == std::string::npos) {
        out_.ignored.push_back("model.converters " + c);
        continue;
      }
      narrow = true;
      const bool mx = c.starts_with("mx") || c.find(".mx") != std::string::npos;
      p.precision = mx ? Precision::mxfp8 : Precision::fp8;
      const bool grouped =
          c.find("grouped") != std::string::npos || c.find("moe") != std::string::npos;
      (grouped ? experts : products) = true;
    }
    for (const char* path : {"quantize.linear.float8.recipe_name", "float8.recipe_name",
                             "quantize.dense.float8.recipe_name"}) {
      const std::string recipe = r_.text(path).value_or("tensorwise");
      if (p.precision == Precision::fp8 && recipe != "tensorwise")
        r_.problem(path, "'" + recipe + "' has no counterpart in a plan", "tensorwise");
    }
    bool gathered = false;
    for (const char* path : {"quantize.linear.float8.enable_fsdp_float8_all_gather",
                             "float8.enable_fsdp_float8_all_gather",
                             "quantize.dense.float8.enable_fsdp_float8_all_gather"})
      gathered = r_.is_on(path) || gathered;
    if (!narrow) return;
    if (out_.document.model.moe && products != experts)
      out_.ignored.push_back(products ? "experts in bf16 beside other products in fp8"
                                      : "experts in fp8 beside other products in bf16");
    p.fp8_params = p.sharding == Sharding::none || gathered;
  }

  // "selective" by operation keeps products and exchanges; by number, every n-th layer is
  // recomputed whole.
  void read_recompute() {
    Plan& p = plan();
    const std::string otherwise = config_ != nullptr ? config_->recompute : "selective";
    // "none" is a mode.
    const std::string said = word_of(r_.find("activation_checkpoint.mode"));
    const std::string mode = said.empty() ? otherwise : said;
    const std::string option =
        r_.text("activation_checkpoint.selective_ac_option").value_or(newer_ ? "op" : "2");
    if (mode == "full") {
      p.recompute_full = true;
    } else if (mode == "selective" && option == "op") {
      p.recompute = {Module::layernorm};
      if (out_.document.model.moe) p.recompute.insert(Module::moe_act);
      out_.assumed.push_back(
          "selective recompute by operation, priced as that of norms and experts' activations");
    } else if (mode == "selective") {
      const int every = r_.degree("activation_checkpoint.selective_ac_option", 2);
      const std::int64_t chunk =
          out_.document.model.layers / (std::int64_t{p.attention.pp} * p.vpp);
      p.recompute_full = true;
      if (every > 1) {
        p.recompute_layers = static_cast<int>(std::max<std::int64_t>(1, chunk / every));
        out_.assumed.push_back(fmt::format("every {}. layer recomputed, as the first {} of a chunk",
                                           every, p.recompute_layers));
      }
    } else if (!mode.empty() && mode != "none" && mode != "off") {
      r_.problem("activation_checkpoint.mode", "'" + mode + "' has no counterpart in a plan",
                 "none, selective or full");
    }
  }

  void read_rest() {
    Plan& p = plan();
    const bool moe = out_.document.model.moe.has_value();
    read_precision();
    read_recompute();
    const std::string exchange =
        r_.text("parallelism.expert_parallel_comm_backend").value_or("standard");
    p.dispatcher = moe && exchange == "deepep" ? Dispatcher::deepep : Dispatcher::alltoall;
    if (exchange != "standard" && exchange != "deepep")
      r_.problem("parallelism.expert_parallel_comm_backend",
                 "'" + exchange + "' has no counterpart in a plan", "standard or deepep");
    // Each is asked for, so that none is said to be unread.
    bool pieces = false, compiled = r_.is_on("compile.enable");
    compiled = r_.is_on("training.compile") || compiled;
    for (const char* path :
         {"compile.enable_async_tensor_parallel", "parallelism.enable_async_tensor_parallel"})
      pieces = r_.is_on(path) || pieces;
    static_cast<void>(r_.list("compile.components"));
    p.overlap.tensor_parallel = p.attention.tp > 1 && pieces && compiled;
    const bool graphs = !r_.is_on("training.disable_cuda_graphs") && newer_;
    if (graphs) {
      if (p.attention.pp > 1 || p.expert.ep > 1)
        r_.problem("training.disable_cuda_graphs",
                   "torchtitan refuses a graph of a step with a pipeline, or with experts spread "
                   "by all-to-all",
                   "--training.disable_cuda_graphs");
      p.cuda_graph = CudaGraph::full_iteration;
    }
    // Others over FSDP's shards are no plan's.
    std::string kind = r_.text("optimizer.name").value_or("AdamW");
    if (config_ != nullptr && std::string(config_->name) == "moonlight_16b_a3b") kind = "Muon";
    if (kind != "Adam" && kind != "AdamW")
      out_.ignored.push_back("optimizer.name " + kind + ", priced as AdamW");
  }

  T r_;
  const ImportChoices& choices_;
  bool newer_ = false;
  const TitanConfig* config_ = nullptr;
  ImportedRun out_;
};

// "--parallelism.no-enable-sequence-parallel" switches off, "_" and "-" are the same.
void put_argument(JsonValue& tree, std::string name, const std::vector<std::string>& values) {
  std::replace(name.begin(), name.end(), '-', '_');
  JsonValue value = values.size() > 1 ? JsonValue::array() : JsonValue("true");
  if (values.size() == 1) value = JsonValue(values.front());
  if (values.size() > 1)
    for (const std::string& v : values) value.push_back(v);
  const std::size_t last = name.rfind('.') + 1;
  if (values.empty() && name.compare(last, 3, "no_") == 0) {
    name.erase(last, 3);
    value = JsonValue("false");
  }
  set_at(tree, name, std::move(value));
}

}  // namespace

JsonValue titan_arguments(const std::string& text) {
  const std::vector<std::string> words = shell_words(text);
  JsonValue tree = JsonValue::object();
  std::int64_t ranks = 0, nodes = 1;
  const auto count = [](const std::string& value) {
    return value.empty() || value.size() > 6 ||
                   value.find_first_not_of("0123456789") != std::string::npos
               ? std::int64_t{0}
               : std::int64_t{std::stoll(value)};
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.starts_with("activation-checkpoint:")) {
      set_at(tree, "activation_checkpoint.mode", word.substr(22));
      continue;
    }
    if (word.size() < 3 || !word.starts_with("--")) continue;
    const std::size_t equals = word.find('=');
    std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
    std::vector<std::string> values;
    if (equals != std::string::npos) values.push_back(word.substr(equals + 1));
    while (values.empty() || equals == std::string::npos) {
      if (i + 1 >= words.size() || words[i + 1].starts_with("--") || words[i + 1] == ")" ||
          words[i + 1].find(':') != std::string::npos)
        break;
      values.push_back(words[++i]);
    }
    const std::string given = values.empty() ? "" : values.front();
    if (name == "nproc_per_node" || name == "nproc-per-node")
      ranks = count(given);
    else if (name == "nnodes")
      nodes = count(given);
    else if (name == "module" || name == "config" || name.find('.') != std::string::npos)
      put_argument(tree, std::move(name), values);
  }
  if (ranks * nodes > 0) tree.set("world_size", std::to_string(ranks * nodes));
  return tree;
}

ImportedRun import_titan(const KeyReader& r, const ImportChoices& choices) {
  return TitanImport(r, choices).run();
}

}  // namespace pleat::interop
