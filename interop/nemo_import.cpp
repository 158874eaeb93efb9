// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// YAML of NeMo 2.4 as NeMo-Run writes it (trainer, model.config, data, optim) and of NeMo 1
// (examples/nlp/language_modeling/conf), in the words of Megatron-LM: most keys are members of
// megatron-core's configurations, and have its names.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "core/spec/catalog.hpp"
#include "interop/exported.hpp"
#include "interop/keyed_import.hpp"
#include "interop/megatron_export.hpp"

namespace pleat::interop {
namespace {

// Configurations of NeMo 2 with the sizes of a model of the catalog
// (collections/llm/gpt/model/*.py).
struct NemoClass {
  std::string_view name;
  const char* model;
};
constexpr auto kNemoClasses = std::to_array<NemoClass>({
    {"GPTConfig175B", "gpt3-175b"},
    {"Llama2Config70B", "llama2-70b"},
    {"Llama3Config8B", "llama3-8b"},
    {"Llama31Config8B", "llama3-8b"},
    {"Llama3Config70B", "llama3-70b"},
    {"Llama31Config70B", "llama3-70b"},
    {"Llama31Config405B", "llama3.1-405b"},
    {"Llama4Experts16Config", "llama4-scout"},
    {"Llama4Experts128Config", "llama4-maverick"},
    {"MixtralConfig8x7B", "mixtral-8x7b"},
    {"MixtralConfig8x22B", "mixtral-8x22b"},
    {"DeepSeekV3Config", "deepseek-v3"},
    {"Qwen3Config8B", "qwen3-8b"},
    {"Qwen3Config30B_A3B", "qwen3-30b-a3b"},
    {"Qwen3Config235B_A22B", "qwen3-235b-a22b"},
    {"Nemotron4Config15B", "nemotron4-15b"},
    {"Nemotron4Config340B", "nemotron4-340b"},
    {"NemotronHConfig56B", "nemotron-h-56b"},
});

// Members of Megatron-LM by the names that NeMo has for them.
const std::map<std::string_view, std::string_view> kNemoNames{
    {"num_moe_experts", "num_experts"},
    {"layernorm_epsilon", "norm_epsilon"},
    {"num_layers_in_first_pipeline_stage", "decoder_first_pipeline_num_layers"},
    {"num_layers_in_last_pipeline_stage", "decoder_last_pipeline_num_layers"},
    {"microbatch_group_size_per_vp_stage", "microbatch_group_size_per_virtual_pipeline_stage"},
    {"encoder_seq_length", "seq_length"},
    {"rotary_percentage", "rotary_percent"},
    {"override_vocab_size", "vocab_size"},
    {"ub_tp_comm_overlap", "tp_comm_overlap"},
    {"activations_checkpoint_granularity", "recompute_granularity"},
    {"activations_checkpoint_method", "recompute_method"},
    {"activations_checkpoint_num_layers", "recompute_num_layers"},
    {"fp8_params", "fp8_param_gather"},
    {"overlap_grad_sync", "overlap_grad_reduce"},
    {"overlap_param_sync", "overlap_param_gather"},
    {"bucket_size", "ddp_bucket_size"}};

// Keys that NeMo writes in words of its own, which words_of_… read.
constexpr auto kNemoWords = std::to_array<std::string_view>(
    {"activation", "activation_func", "bias", "normalization", "gated_linear_unit",
     "share_embeddings_and_output_weights", "fp8", "fsdp", "name", "add_bias_linear",
     "data_parallel_sharding_strategy"});

class NemoImport {
 public:
  NemoImport(const KeyReader& r, const ImportChoices& choices) : r_(r), choices_(choices) {}

  ImportedRun run() {
    newer_ = r_.find("trainer.strategy") != nullptr || r_.find("model.config") != nullptr;
    if (r_.find("trainer") == nullptr || r_.find("model") == nullptr) {
      r_.problem("trainer", "is missing, or `model` is: this is no configuration of a run of NeMo",
                 "YAML of NeMo-Run, or megatron_gpt_config.yaml");
      r_.problems().throw_if_errors();
    }
    if (newer_)
      read_newer();
    else
      read_older();
    ImportChoices choices = choices_;
    if (choices.gpus == 0)
      choices.gpus = r_.degree("trainer.devices") * r_.degree("trainer.num_nodes");
    static_cast<void>(r_.degree("trainer.devices") * r_.degree("trainer.num_nodes"));
    r_.problems().throw_if_errors();
    ImportedRun out = imported(choices);
    for (const auto& [path, member] : from_)
      if (out.asked.contains(member) || !path.ends_with("." + member))
        static_cast<void>(r_.find(path));
    if (!model_name_.empty() && !choices.model)
      out.document.model.name = out.document.model_name = model_name_;
    for (std::string& line : assumed_) out.assumed.push_back(std::move(line));
    return out;
  }

 private:
  // Problems name the key as the file has it.
  ImportedRun imported(const ImportChoices& choices) {
    try {
      return import_arguments(values_, choices, r_.where());
    } catch (const ConfigError& e) {
      for (Diagnostic d : e.diagnostics()) {
        for (const auto& [path, member] : from_)
          if (member == d.path) d.path = path;
        r_.problems().add(d);
      }
      r_.problems().throw_if_errors();
      throw;
    }
  }

  void set(const char* member, const std::string& value) { values_[member] = {value}; }

  static std::string python_value(const std::string& text) {
    if (text == "true") return "True";
    return text == "false" ? "False" : text == "null" ? "None" : text;
  }

  // A key of one of megatron-core's configurations.
  void put(const std::string& path, const std::string& key, const JsonValue& value) {
    if (std::find(kNemoWords.begin(), kNemoWords.end(), key) != kNemoWords.end()) return;
    const auto renamed = kNemoNames.find(key);
    const std::string member(renamed == kNemoNames.end() ? std::string_view(key) : renamed->second);
    std::vector<std::string> values;
    if (const JsonValue* const target = value.find("_target_"); target != nullptr) {
      values = {word_of(target)};
    } else if (const std::string* const text = value.as_string()) {
      if (!text->empty() && *text != "null") values = {python_value(*text)};
    } else {
      for (const JsonValue& item : value.items())
        if (const std::string word = word_of(&item); !word.empty()) values.push_back(word);
    }
    from_[path] = member;
    if (values.empty()) return;
    if ((member == "moe_layer_freq" || member == "linear_attention_freq") && value.is_array()) {
      std::string text;
      for (const std::string& v : values) text += (text.empty() ? "[" : ",") + v;
      values = {text + "]"};
    }
    values_[member] = std::move(values);
  }

  void put_section(const std::string& path) {
    const JsonValue* const section = r_.find(path);
    if (section == nullptr) return;
    for (const JsonMember& m : section->members()) {
      const bool nested = m.value.is_object() && m.value.find("_target_") == nullptr;
      if (!nested && !m.key.starts_with("_")) put(path + "." + m.key, m.key, m.value);
    }
  }

  static std::string class_of(const JsonValue* object) {
    const std::string text = object == nullptr ? "" : word_of(object->find("_target_"));
    return text.substr(text.rfind('.') + 1);
  }

  // The sizes that a class has, as flags of the model of the catalog.
  void read_class() {
    const std::string name = class_of(r_.find("model.config"));
    static_cast<void>(r_.find("model.config._target_"));
    for (const NemoClass& c : kNemoClasses) {
      if (name != c.name) continue;
      PlanDocument d;
      d.model = load_model(c.model).model;
      Exported e;
      write_megatron_model(ExportContext{d}, e);
      std::vector<std::string> words;
      for (const Setting& s : e.settings) {
        words.push_back(s.name);
        words.insert(words.end(), s.values.begin(), s.values.end());
      }
      values_ = read_arguments(words, load_flag_table()).values;
      if (d.model.moe) set("moe_token_dispatcher_type", "alltoall");
      if (name.starts_with("DeepSeek") || name.starts_with("Qwen3"))
        set("moe_permute_fusion", "True");
      model_name_ = c.model;
      assumed_.push_back(fmt::format("sizes of {} as {} has them", name, c.model));
      return;
    }
  }

  void read_words(const std::string& section) {
    const auto at = [&](const char* key) { return section + "." + key; };
    const std::string norm = r_.text(at("normalization")).value_or("");
    if (norm == "rmsnorm" || norm == "RMSNorm") set("normalization", "RMSNorm");
    if (norm.starts_with("layernorm") || norm == "LayerNorm") set("normalization", "LayerNorm");
    const std::string share = at("share_embeddings_and_output_weights");
    const bool tied = r_.is_on(
        share, values_.empty() || !values_.contains("untie_embeddings_and_output_weights"));
    values_.erase("untie_embeddings_and_output_weights");
    if (!tied) set("untie_embeddings_and_output_weights", "True");
    if (values_.contains("num_query_groups")) set("group_query_attention", "True");
    const bool biases =
        r_.is_on(newer_ ? at("add_bias_linear") : at("bias"), !values_.contains("add_bias_linear"));
    if (!biases) set("add_bias_linear", "False");
    read_activation(section);
  }

  void read_activation(const std::string& section) {
    std::string name = r_.text(section + ".activation").value_or("");
    const JsonValue* const function = r_.find(section + ".activation_func");
    const bool gated = r_.is_on(section + ".gated_linear_unit");
    if (function != nullptr) {
      const JsonValue* const target = function->find("_target_");
      const std::string* const text =
          target != nullptr ? target->as_string() : function->as_string();
      name = text == nullptr ? "" : text->substr(text->rfind('.') + 1);
      if (gated && name == "silu") name = "swiglu";
    }
    if (name.starts_with("fast-")) name.erase(0, 5);
    if (name == "swiglu")
      set("swiglu", "True");
    else if (name == "squared-relu" || name == "squared_relu")
      set("squared_relu", "True");
    else if (!name.empty() && name != "gelu")
      r_.problem(section + (function != nullptr ? ".activation_func" : ".activation"),
                 "'" + name + "' has no counterpart in a plan", "gelu, swiglu or squared-relu");
  }

  void read_type(const std::string& word) {
    const std::string type = word.substr(0, word.find('-'));
    if (type == "bf16") set("bf16", "True");
    if (type == "16") set("fp16", "True");
    if (type != "bf16" && type != "16" && type != "32")
      r_.problem("trainer.precision", "'" + word + "' is none of 16, bf16 and 32");
  }

  void read_newer() {
    read_class();
    put_section("model.config");
    put_section("trainer.strategy");
    const JsonValue* const ddp = r_.find("trainer.strategy.ddp");
    if (ddp != nullptr && ddp->is_object()) put_section("trainer.strategy.ddp");
    put_section("optim.config");
    put_section("data");
    read_words("model.config");
    read_sharding();
    const JsonValue* const plugins = r_.find("trainer.plugins");
    std::string path = "trainer.plugins";
    if (plugins != nullptr && plugins->is_array()) {
      for (const JsonValue& item : plugins->items())
        if (class_of(&item) == "MegatronMixedPrecision") read_plugin(item, path);
    } else if (plugins != nullptr) {
      read_plugin(*plugins, path);
    }
    if (!values_.contains("bf16") && !values_.contains("fp16"))
      read_type(r_.text("trainer.precision").value_or("32"));
    read_callbacks();
    if (const auto reduced = values_.find("grad_reduce_in_fp32");
        reduced != values_.end() && reduced->second.front() == "False")
      set("grad_reduce_in_bf16", "True");
    for (auto& [key, member] : from_)
      if (member == "grad_reduce_in_fp32") member = "grad_reduce_in_bf16";
  }

  void read_plugin(const JsonValue& plugin, const std::string& path) {
    for (const JsonMember& m : plugin.members()) {
      const std::string* const text = m.value.as_string();
      if (m.key == "precision" && text != nullptr) read_type(*text);
      if (m.key == "fp8" && text != nullptr && !text->empty() && *text != "null") set("fp8", *text);
      if (m.key == "precision" || m.key == "fp8")
        static_cast<void>(r_.find(path + "." + m.key));
      else if (!m.key.starts_with("_"))
        put(path + "." + m.key, m.key, m.value);
    }
  }

  void read_sharding() {
    const std::string fsdp = r_.text("trainer.strategy.fsdp").value_or("");
    const auto strategy = r_.text("trainer.strategy.ddp.data_parallel_sharding_strategy");
    if (fsdp == "pytorch") set("use_torch_fsdp2", "True");
    if (fsdp == "megatron") {
      set("use_megatron_fsdp", "True");
      if (strategy) set("data_parallel_sharding_strategy", *strategy);
    }
  }

  // A list of objects, each of a class.
  void read_callbacks() {
    const JsonValue* const list = r_.find("trainer.callbacks");
    if (list == nullptr) return;
    for (const JsonValue& callback : list->items()) {
      const std::string name = class_of(&callback);
      if (name == "MegatronCommOverlapCallback") {
        for (const JsonMember& m : callback.members())
          if (!m.key.starts_with("_") && !m.value.is_object())
            put("trainer.callbacks." + m.key, m.key, m.value);
      } else if (name == "MegatronTokenDropCallback") {
        const auto value = [&](const char* key, const char* otherwise) {
          const std::string word = word_of(callback.find(key));
          return word.empty() ? std::string(otherwise) : python_value(word);
        };
        set("moe_expert_capacity_factor", value("moe_expert_capacity_factor", "1.0"));
        set("moe_pad_expert_input_to_capacity", value("moe_pad_expert_input_to_capacity", "True"));
      } else if (name == "DeepEPCallback") {
        set("moe_token_dispatcher_type", "flex");
        set("moe_enable_deepep", "True");
      } else if (name == "ModelTransform" || name == "PEFT" || name == "LoRA") {
        r_.problem("trainer.callbacks", "cannot be predicted: " + name + " changes the model");
      }
    }
  }

  void read_older() {
    put_section("model");
    read_words("model");
    read_type(r_.text("trainer.precision").value_or("32"));
    const auto tokens = r_.text("model.data.seq_length");
    if (!values_.contains("seq_length") && tokens) set("seq_length", *tokens);
    const std::string name = r_.text("model.optim.name").value_or("fused_adam");
    if (name == "distributed_fused_adam" || name == "mcore_distributed_optim") {
      set("use_distributed_optimizer", "True");
      if (name == "distributed_fused_adam") set("overlap_grad_reduce", "True");  // Apex's default
      for (const char* key : {"overlap_grad_sync", "overlap_param_sync"}) {
        const std::string path = std::string("model.optim.") + key;
        if (const JsonValue* const value = r_.find(path)) put(path, key, *value);
      }
      if (r_.text("model.optim.grad_sync_dtype").value_or("fp32") == "bf16")
        set("grad_reduce_in_bf16", "True");
    } else if (name.find("adam") == std::string::npos) {
      set("optimizer", name);
    }
    if (r_.is_on("model.fsdp")) {
      const std::string strategy = r_.text("model.fsdp_sharding_strategy").value_or("full");
      set("use_torch_fsdp2", "True");
      if (strategy == "grad") set("torch_fsdp2_no_reshard_after_forward", "True");
      if (strategy == "hybrid")
        r_.problem("model.fsdp_sharding_strategy", "'hybrid' is not read", "full or grad");
    }
    if (r_.is_on("model.fp8")) {
      const bool e4m3 = r_.is_on("model.fp8_e4m3");
      set("fp8", e4m3 ? "e4m3" : "hybrid");
    }
    static_cast<void>(r_.is_on("model.fp8_e4m3") || r_.is_on("model.fp8_hybrid"));
    static_cast<void>(r_.find("model.fp8_hybrid"));
    read_tokenizer();
  }

  void read_tokenizer() {
    const std::string library = r_.text("model.tokenizer.library").value_or("");
    const std::string type = r_.text("model.tokenizer.type").value_or("");
    const std::string model = r_.text("model.tokenizer.model").value_or("");
    const std::string merges = r_.text("model.tokenizer.merge_file").value_or("");
    if (library == "huggingface") set("tokenizer_model", type);
    if (library == "megatron") set("tokenizer_type", type);
    if (library == "sentencepiece" && model != "???") set("tokenizer_model", model);
    if (!merges.empty() && library.empty()) set("merge_file", merges);
  }

  const KeyReader& r_;
  const ImportChoices& choices_;
  bool newer_ = false;
  Arguments values_;
  std::map<std::string, std::string> from_;  // by path, the member that it became
  std::vector<std::string> assumed_;
  std::string model_name_;  // of the catalog
};

}  // namespace

ImportedRun import_nemo(const KeyReader& r, const ImportChoices& choices) {
  return NemoImport(r, choices).run();
}

}  // namespace pleat::interop
