// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Configurations of torchtitan, DeepSpeed and NeMo, read as plans.
#include "interop/keyed_import.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "core/plan/constraints.hpp"
#include "core/spec/catalog.hpp"
#include "interop/exported.hpp"
#include "interop/toml_text.hpp"
#include "tests/interop/data_file.hpp"
#include "tests/interop/random_plans.hpp"

namespace pleat::interop {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ImportChoices on_gpus(int gpus, const std::string& model = "") {
  ImportChoices choices;
  choices.gpus = gpus;
  if (!model.empty()) choices.model = load_model(model).model;
  return choices;
}

// "path: message" of every problem.
template <class Work>
std::vector<std::string> problems_of(const Work& work) {
  std::vector<std::string> out;
  try {
    work();
  } catch (const ConfigError& e) {
    for (const Diagnostic& d : e.diagnostics()) out.push_back(d.path + ": " + d.message);
  }
  return out;
}

KeyedRun titan(const std::string& text, int gpus = 64) {
  return import_keys(KeyedFormat::torchtitan, text, on_gpus(gpus), "config.toml");
}

const std::string kLlama = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n";

TEST(TitanImport, ATomlFileIsAPlan) {
  const KeyedRun read = titan(kLlama +
                              "[training]\nlocal_batch_size = 2\nseq_len = 8_192\n"
                              "global_batch_size = 128\n"
                              "[parallelism]\ntensor_parallel_degree = 4\n"
                              "data_parallel_replicate_degree = 2\n"
                              "fsdp_reshard_after_forward = 'never'\n"
                              "[activation_checkpoint]\nmode = 'full'\n");
  const PlanDocument& d = read.run.document;
  EXPECT_EQ(d.model_name, "llama3-8b");
  EXPECT_EQ(d.gpus, 64);
  EXPECT_EQ(d.plan.attention, (AttentionMapping{.tp = 4, .cp = 1, .dp = 16, .pp = 1}));
  EXPECT_EQ(d.plan.sharding, Sharding::zero2);
  EXPECT_EQ(d.plan.fsdp_group, 8);
  EXPECT_EQ(d.plan.micro_batch, 2);
  EXPECT_EQ(d.workload.global_batch, 128);
  EXPECT_EQ(d.workload.seq_len, 8192);
  EXPECT_TRUE(d.plan.recompute_full);
  EXPECT_TRUE(d.plan.sequence_parallel);
  EXPECT_THAT(read.unpriced, IsEmpty());
}

// deepseek_v3_671b.toml of torchtitan's repository, September 2025.
TEST(TitanImport, APublishedDeepSeekIsRead) {
  const KeyedRun read = titan(
      "[job]\ndump_folder = \"./outputs\"\nprint_args = false\n[model]\nname = \"deepseek_v3\"\n"
      "flavor = \"671B\"\n[optimizer]\nname = \"AdamW\"\nlr = 2.2e-4\n[training]\n"
      "local_batch_size = 4\nseq_len = 4096\nmax_norm = 1.0\nsteps = 10_000\ndataset = \"c4\"\n"
      "[parallelism]\ndata_parallel_shard_degree = -1\npipeline_parallel_degree = 1\n"
      "pipeline_parallel_schedule = \"Interleaved1F1B\"\nexpert_parallel_degree = 8\n"
      "[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = 'op'\n"
      "[compile]\nenable=true\ncomponents = [\"loss\"]\n[quantize.dense.float8]\n"
      "enable_fsdp_float8_all_gather = false\nfilter_fqns = [\"output\", \"router.gate\"]\n"
      "[quantize.moe.float8]\nfqns = [\"experts\"]\n",
      256);
  const PlanDocument& d = read.run.document;
  EXPECT_EQ(d.model.layers, 61);
  EXPECT_EQ(d.model.mtp_layers, 0);
  EXPECT_EQ(d.plan.sharding, Sharding::zero3);
  EXPECT_EQ(d.plan.expert, (ExpertMapping{.etp = 1, .ep = 8, .edp = 32}));
  EXPECT_EQ(d.plan.recompute, (std::set<Module>{Module::layernorm, Module::moe_act}));
  EXPECT_EQ(d.workload.global_batch, 1024);
  EXPECT_THAT(read.unpriced, IsEmpty());
  EXPECT_THAT(read.run.assumed, Contains(HasSubstr("selective recompute by operation")));
}

TEST(TitanImport, LayersOfThePipelineAreItsOwn) {
  const KeyedRun read = titan(kLlama +
                              "[parallelism]\npipeline_parallel_degree = 4\n"
                              "pipeline_parallel_schedule = 'Interleaved1F1B'\n[training]\n"
                              "local_batch_size = 16\n");
  const Plan& p = read.run.document.plan;
  EXPECT_EQ(p.vpp, 2);
  EXPECT_EQ(p.micro_batch, 1);
  EXPECT_EQ(p.sharding, Sharding::zero2);
  // 32 layers, embedding and loss count as one each: 34 over 8 chunks, the first two have 5.
  EXPECT_EQ(p.layout, "Et*4|t*5|(t*4|)*5t*3L") << p.layout;
}

TEST(TitanImport, WhatCannotBeSaidIsNamed) {
  const auto refused = [](const std::string& more, const std::string& path,
                          const std::string& message) {
    EXPECT_THAT(problems_of([&] { static_cast<void>(titan(kLlama + more)); }),
                Contains(AllOf(HasSubstr(path + ": "), HasSubstr(message))));
  };
  refused("[training]\nenable_cpu_offload = true\n", "training.enable_cpu_offload",
          "cannot be predicted: weights, gradients and states live on the host");
  refused("[activation_checkpoint]\nmode = 'memory_budget'\n", "activation_checkpoint.mode",
          "'memory_budget' has no counterpart in a plan");
  refused("[parallelism]\ntensor_parallel_degree = 'x'\n", "parallelism.tensor_parallel_degree",
          "'x' is not a whole number");
  refused("[parallelism]\ntensor_parallel_degree = 3\n", "parallelism",
          "the degrees are not those of 64 GPUs");
  refused(
      "[parallelism]\npipeline_parallel_degree = 2\n[training]\nlocal_batch_size = 2\n"
      "global_batch_size = 128\n",
      "training.local_batch_size", "filled and drained 2 times");
  EXPECT_THAT(problems_of([] { static_cast<void>(titan("[model]\nname = \"flux\"\n")); }),
              Contains(HasSubstr("model.flavor: '' of 'flux' is not known")));
  EXPECT_EQ(problems_of([] { static_cast<void>(titan("[model\n")); }).size(), 1U);
  EXPECT_THAT(
      titan(kLlama + "[debug]\ndeterministic = true\n[training]\nlocl_batch = 3\n").unpriced,
      ::testing::UnorderedElementsAre(HasSubstr("debug.deterministic: deterministic"),
                                      "training.locl_batch: unknown key"));
}

TEST(TitanImport, ACommandOfTheNewestVersionIsRead) {
  const KeyedRun read =
      import_keys(KeyedFormat::torchtitan,
                  "torchrun --nproc_per_node=8 --nnodes=2 -m torchtitan.train --module qwen3 "
                  "--config qwen3_30b_a3b --parallelism.expert-parallel-degree 8 "
                  "--training.disable_cuda_graphs activation-checkpoint:none\n",
                  on_gpus(0), "run.sh");
  const PlanDocument& d = read.run.document;
  EXPECT_EQ(d.gpus, 16);
  EXPECT_EQ(d.plan.expert.ep, 8);
  EXPECT_EQ(d.plan.micro_batch, 2);
  EXPECT_FALSE(d.plan.recompute_full);
  EXPECT_THAT(read.run.assumed, Contains(HasSubstr("training.local_batch_size 2, of qwen3")));
}

// DeepSpeedExamples, training/expert_parallel/configs/ds_autoep_zero1_qwen3_5_moe.json.
TEST(DeepSpeedImport, APublishedFileIsAPlan) {
  ImportChoices choices = on_gpus(16, "qwen3.5-35b-a3b");
  choices.seq_len = 8192;
  const KeyedRun read =
      import_keys(KeyedFormat::deepspeed,
                  R"({"bf16": {"enabled": true}, "zero_optimization": {"stage": 1},
          "expert_parallel": {"enabled": true, "autoep_size": 8, "preset_model": "qwen3_5_moe",
                              "load_balance_coeff": null},
          "optimizer": {"type": "AdamW", "params": {"lr": 1e-4}},
          "scheduler": {"type": "WarmupCosineLR", "params": {"total_num_steps": 1000}},
          "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 3,
          "steps_per_print": 10})",
                  choices, "ds_config.json");
  const PlanDocument& d = read.run.document;
  EXPECT_EQ(d.plan.attention.dp, 16);
  EXPECT_EQ(d.plan.expert, (ExpertMapping{.etp = 1, .ep = 8, .edp = 2}));
  EXPECT_EQ(d.plan.sharding, Sharding::zero1);
  EXPECT_EQ(d.plan.precision, Precision::bf16);
  EXPECT_EQ(d.plan.optimizer.main_grads, DType::bf16);
  EXPECT_FALSE(d.plan.overlap.grad_reduce);
  EXPECT_EQ(d.workload, (WorkloadSpec{.seq_len = 8192, .global_batch = 96}));
  EXPECT_THAT(read.unpriced, IsEmpty());
}

TEST(DeepSpeedImport, WhatContradictsOrChangesTheStepIsRefused) {
  const auto refused = [](const std::string& text, const std::string& path,
                          const std::string& message) {
    EXPECT_THAT(problems_of([&] {
                  static_cast<void>(import_keys(KeyedFormat::deepspeed, text,
                                                on_gpus(8, "llama3-8b"), "ds.json"));
                }),
                Contains(AllOf(HasSubstr(path + ": "), HasSubstr(message))));
  };
  const std::string micro = R"("train_micro_batch_size_per_gpu": 1)";
  refused("{" + micro + R"(, "train_batch_size": 12, "gradient_accumulation_steps": 2})",
          "train_batch_size", "is 12, but 1 a GPU x 2 steps x 8 GPUs are 16");
  refused(R"({"train_micro_batch_size_per_gpu": "auto"})", "train_micro_batch_size_per_gpu",
          "'auto' is what the trainer of transformers fills in");
  refused("{" + micro + R"(, "zero_optimization": {"stage": 3,
            "offload_param": {"device": "cpu"}}})",
          "zero_optimization.offload_param.device", "cannot be predicted: weights on the host");
  refused("{" + micro + R"(, "zero_optimization": {"stage": 3, "zero_quantized_weights": true}})",
          "zero_optimization.zero_quantized_weights", "travel in fewer bits");
  refused("{" + micro + R"(, "optimizer": {"type": "OneBitAdam"}})", "optimizer.type",
          "compressed on the wire");
  refused("{" + micro + R"(, "sequence_parallel_size": 2})", "sequence_parallel_size",
          "split over ranks by the program");
  EXPECT_THAT(problems_of([&] {
                static_cast<void>(
                    import_keys(KeyedFormat::deepspeed, "{" + micro + "}", on_gpus(8), "ds.json"));
              }),
              Contains(HasSubstr("model: is the program's, the file does not name it")));
  const KeyedRun read =
      import_keys(KeyedFormat::deepspeed,
                  "{" + micro + R"(, "compression_training": {"enabled": false, "x": {"y": 3}},
        "flops_profiler": {"enabled": true}, "fp16": {"enabled": false, "auto_cast": true},
        "activation_checkpointing": {"cpu_checkpointing": true}})",
                  on_gpus(8, "llama3-8b"), "ds.json");
  EXPECT_THAT(read.unpriced, ::testing::ElementsAre(HasSubstr(
                                 "activation_checkpointing.cpu_checkpointing: the program's")));
}

// What a recipe of NeMo 2 writes by --to-yaml, with the keys that change the step.
const char* const kNemo2 = R"(_partial_: true
_target_: nemo.collections.llm.api.pretrain
data: {global_batch_size: 128, micro_batch_size: 1, seq_length: 8192, paths: [a, b]}
model:
  _target_: nemo.collections.llm.gpt.model.llama.LlamaModel
  config:
    _target_: nemo.collections.llm.gpt.model.llama.Llama3Config8B
    cross_entropy_fusion_impl: te
    num_layers: 16
optim:
  config: {optimizer: adam, lr: 0.0003, use_distributed_optimizer: true, bf16: true, fp16: false}
trainer:
  callbacks:
  - _target_: nemo.utils.exp_manager.TimingCallback
  - _target_: nemo.lightning.pytorch.callbacks.megatron_comm_overlap.MegatronCommOverlapCallback
    tp_comm_overlap: true
  devices: 8
  num_nodes: 4
  plugins:
    _target_: nemo.lightning.pytorch.plugins.mixed_precision.MegatronMixedPrecision
    fp8: hybrid
    fp8_recipe: tensorwise
    fp8_param_gather: true
    first_last_layers_bf16: true
    grad_reduce_in_fp32: false
    params_dtype: {_call_: false, _target_: torch.bfloat16}
    precision: bf16-mixed
  strategy:
    context_parallel_size: 2
    ddp: {overlap_grad_reduce: true, overlap_param_gather: true, grad_reduce_in_fp32: true}
    expert_tensor_parallel_size: null
    pipeline_model_parallel_size: 2
    virtual_pipeline_model_parallel_size: 2
    sequence_parallel: true
    tensor_model_parallel_size: 2
)";

KeyedRun nemo(const std::string& text) {
  return import_keys(KeyedFormat::nemo, text, on_gpus(0), "run.yaml");
}

TEST(NemoImport, WhatNemoRunWritesIsAPlan) {
  const KeyedRun read = nemo(kNemo2);
  const PlanDocument& d = read.run.document;
  EXPECT_EQ(d.gpus, 32);
  EXPECT_EQ(d.model.layers, 16);
  EXPECT_EQ(d.model.hidden, load_model("llama3-8b").model.hidden);
  EXPECT_EQ(d.model.vocab, 128256);
  EXPECT_EQ(d.plan.attention, (AttentionMapping{.tp = 2, .cp = 2, .dp = 4, .pp = 2}));
  EXPECT_EQ(d.plan.vpp, 2);
  EXPECT_EQ(d.plan.precision, Precision::fp8);
  EXPECT_TRUE(d.plan.fp8_params);
  EXPECT_TRUE(d.plan.overlap.tensor_parallel);
  EXPECT_TRUE(d.plan.overlap.grad_reduce);
  EXPECT_EQ(d.plan.optimizer.main_grads, DType::bf16);
  EXPECT_EQ(d.plan.sharding, Sharding::zero1);
  EXPECT_THAT(read.unpriced,
              ::testing::ElementsAre(HasSubstr("trainer.plugins.first_last_layers_bf16: ")));
}

// launcher_scripts/conf/training/gpt3/175b.yaml of NeMo-Framework-Launcher, shortened.
TEST(NemoImport, AFileOfNemo1IsAPlan) {
  const KeyedRun read = nemo(R"(run: {name: gpt3_175b, results_dir: '${base_results_dir}/${.name}'}
trainer: {num_nodes: 128, devices: 8, precision: bf16, max_steps: 75000}
model:
  micro_batch_size: 1
  global_batch_size: 2048
  tensor_model_parallel_size: 4
  pipeline_model_parallel_size: 8
  virtual_pipeline_model_parallel_size: 12
  encoder_seq_length: 2048
  max_position_embeddings: 2048
  num_layers: 96
  hidden_size: 12288
  ffn_hidden_size: ${multiply:4, ${.hidden_size}}
  num_attention_heads: 96
  kv_channels: null
  activations_checkpoint_granularity: selective
  activations_checkpoint_method: block
  activations_checkpoint_num_layers: 0
  sequence_parallel: True
  tokenizer: {library: 'megatron', type: 'GPT2BPETokenizer', model: null}
  megatron_amp_O2: True
  fp8: False
  fp8_hybrid: True
  ub_tp_comm_overlap: True
  overlap_p2p_comm: True
  nsys_profile: {enabled: False, ranks: [0]}
  optim: {name: distributed_fused_adam, bucket_cap_mb: 100, overlap_grad_sync: True,
          overlap_param_sync: true, lr: 0.9e-4}
  data: {seq_length: 2048, data_prefix: [.0333]}
)");
  const PlanDocument& d = read.run.document;
  EXPECT_EQ(d.gpus, 1024);
  EXPECT_EQ(d.model.vocab, 50257);
  EXPECT_EQ(d.plan.attention, (AttentionMapping{.tp = 4, .cp = 1, .dp = 32, .pp = 8}));
  EXPECT_EQ(d.plan.vpp, 12);
  EXPECT_EQ(d.plan.precision, Precision::bf16);
  EXPECT_EQ(d.plan.sharding, Sharding::zero1);
  EXPECT_TRUE(d.plan.overlap.param_gather);
  EXPECT_EQ(d.plan.recompute, (std::set<Module>{Module::core_attn}));
  EXPECT_THAT(read.unpriced, IsEmpty());
}

TEST(NemoImport, ProblemsHaveThePathOfTheFile) {
  const auto refused = [](const std::string& text, const std::string& path,
                          const std::string& message) {
    EXPECT_THAT(problems_of([&] { static_cast<void>(nemo(text)); }),
                Contains(AllOf(HasSubstr(path + ": "), HasSubstr(message))));
  };
  std::string text = kNemo2;
  text.replace(text.find("num_layers: 16"), 14, "num_layers: few");
  refused(text, "model.config.num_layers", "'few' is not a whole number");
  refused("model: {num_layers: 3}\n", "trainer", "no configuration of a run of NeMo");
  refused(std::string(kNemo2) + "    moe_extended_tp: true\n", "trainer.strategy.moe_extended_tp",
          "cannot be predicted");
}

// Every key that a framework has is read, or has a fate with a reason.
void expect_all_known(KeyedFormat format, const std::string& framework, const std::string& base,
                      const ImportChoices& choices) {
  JsonValue tree = read_keys(format, base, framework == "torchtitan" ? "c.toml" : "c");
  std::istringstream lines(test::data_file(framework + "_keys.txt"));
  Diagnostics problems;
  int keys = 0;
  for (std::string line; std::getline(lines, line); ++keys) {
    if (line.starts_with('#')) continue;
    const std::size_t blank = std::min(line.find(' '), line.size());
    const std::string path = line.substr(0, blank);
    if (KeyReader(tree, "c", problems).find(path) == nullptr)
      set_at(tree, path, blank < line.size() ? line.substr(blank + 1) : "");
  }
  const KeyReader r(tree, "c", problems);
  const ImportedRun run = format == KeyedFormat::torchtitan  ? import_titan(r, choices)
                          : format == KeyedFormat::deepspeed ? import_deepspeed(r, choices)
                                                             : import_nemo(r, choices);
  EXPECT_GT(run.document.gpus, 0);
  std::vector<std::string> lines_said = unread_lines(format, r, problems);
  std::erase_if(lines_said, [](const std::string& l) {  // said of what NeMo has by default
    return l.starts_with("model.config.overlap_p2p_comm: ") ||
           l.find(" that is not fused costs more") != std::string::npos;
  });
  EXPECT_THAT(lines_said, IsEmpty());
  EXPECT_EQ(problems_of([&] { problems.throw_if_errors(); }), std::vector<std::string>{});
  EXPECT_GT(keys, 100);
}

TEST(KeyedImport, EveryKeyHasAReaderOrAFate) {
  expect_all_known(KeyedFormat::torchtitan, "torchtitan", kLlama, on_gpus(8));
  expect_all_known(KeyedFormat::deepspeed, "deepspeed", R"({"train_micro_batch_size_per_gpu": 1})",
                   on_gpus(8, "llama3-8b"));
  std::string text = kNemo2;
  text.erase(text.find("    first_last_layers_bf16: true\n"), 33);
  expect_all_known(KeyedFormat::nemo, "nemo", text, on_gpus(32));
}

// Towards what the frameworks run; what they refuse then is left out.
Plan for_titan(Plan p, int gpus) {
  if (p.sharding == Sharding::zero1) p.sharding = Sharding::zero2;
  p.dispatcher = Dispatcher::alltoall;
  if (p.attention.cp > 1) p.cp_comm = CpComm::all_gather;
  p.expert.etp = 1;
  p.expert.edp = std::max(1, gpus / (p.expert.ep * p.attention.pp));
  p.precision = p.precision == Precision::fp32 ? Precision::fp32 : Precision::bf16;
  if (p.cuda_graph != CudaGraph::full_iteration) p.cuda_graph = CudaGraph::none;
  p.recompute_layers = 0;
  p.recompute_unit = 1;
  return p;
}

Plan plain_memory(Plan p) {
  p.dispatcher_sms = 0;
  p.cp_a2a = 0;
  p.fp8_dispatch = p.fp8_combine = p.fp8_attention = p.fp8_head = false;
  p.fp8_params = true;
  p.offload.clear();
  p.offload_layers = 0;
  p.stages.clear();
  p.paged_stash = {};
  p.optimizer_instances = 1;
  p.flash_attention = true;
  const OptimizerKind kind = p.optimizer.kind;
  p.optimizer = {};
  p.optimizer.kind = kind;
  return p;
}

// The document that comes back has the fields of the one that was exported, but those that the
// export names as not said, and those of `implied`.
void expect_round_trip(Target target, const PlanDocument& d, const std::set<std::string>& implied,
                       int& count) {
  Exported e;
  try {
    e = export_plan(target, {d}, "plan");
  } catch (const ConfigError&) {
    return;
  }
  ++count;
  ImportChoices choices = on_gpus(d.gpus);
  choices.seq_len = d.workload.seq_len;
  if (target == Target::deepspeed) choices.model = d.model;
  const KeyedRun read =
      import_keys(target == Target::deepspeed ? KeyedFormat::deepspeed : KeyedFormat::torchtitan,
                  export_text(target, e, "a plan"), choices, "exported");
  EXPECT_THAT(read.unpriced, IsEmpty()) << summary(d.plan);
  std::set<std::string> free = implied;
  for (const Remark& r : e.missing) free.insert(r.field);
  if (free.contains("plan.recompute_full")) free.insert("plan.recompute");
  if (d.plan.attention.cp == 1) free.insert("plan.cp_comm");
  if (!d.model.moe) free.insert("workload.capacity_factor");
  const FlatFields before = exported_fields(d), after = exported_fields(read.run.document);
  for (const auto& [path, value] : before) {
    if (free.contains(path)) continue;
    const auto same = [&](const auto& f) { return f.first == path; };
    const auto found = std::find_if(after.begin(), after.end(), same);
    ASSERT_NE(found, after.end()) << path;
    EXPECT_EQ(found->second.dump(0), value.dump(0)) << path << " of " << summary(d.plan);
  }
  const auto words = [](const Exported& exported) {
    std::vector<std::string> out;
    for (const Setting& s : exported.settings) {
      out.push_back(s.name);
      out.insert(out.end(), s.values.begin(), s.values.end());
    }
    return out;
  };
  if (free.contains("plan.layout")) return;
  EXPECT_EQ(words(export_plan(target, {read.run.document}, "again")), words(e)) << summary(d.plan);
}

TEST(KeyedImport, WhatTorchtitanIsGivenComesBack) {
  int count = 0;
  for (unsigned seed = 1; seed <= 6; ++seed) {
    for (PlanDocument d : interop_test::random_documents(2, seed)) {
      d.plan = for_titan(plain_memory(d.plan), d.gpus);
      d.plan.optimizer.kind = OptimizerKind::adamw;
      std::set<std::string> implied{"cluster.name", "workload.routing", "plan.microbatch_group",
                                    "workload.pad_to_capacity",
                                    // FSDP2 overlaps both, one group is the whole
                                    "plan.overlap.grad_reduce", "plan.overlap.param_gather"};
      if (d.plan.shard_instances() == 1) implied.insert("plan.fsdp_group");
      if (d.plan.attention.pp * d.plan.vpp > 1 &&
          d.model.layers % (d.plan.attention.pp * d.plan.vpp) != 0)
        implied.insert("plan.layout");  // its own split of what is uneven
      if (d.plan.attention.tp == 1) implied.insert("plan.sequence_parallel");
      expect_round_trip(Target::torchtitan, d, implied, count);
    }
  }
  EXPECT_GT(count, 30);
}

TEST(KeyedImport, WhatDeepSpeedIsGivenComesBack) {
  int count = 0;
  for (unsigned seed = 1; seed <= 4; ++seed) {
    for (PlanDocument d : interop_test::random_documents(1, seed)) {
      const int flat = d.plan.attention.cp * d.plan.attention.pp;
      d.plan = for_titan(plain_memory(d.plan), d.gpus);
      d.plan.attention.dp *= flat;
      d.plan.attention.cp = d.plan.attention.pp = d.plan.vpp = 1;
      d.plan.cp_comm = CpComm::p2p;
      d.plan.schedule = PipelineSchedule::one_f_one_b;
      d.plan.layout.clear();
      d.plan.fsdp_group = d.plan.microbatch_group = 0;
      d.plan.expert.edp = std::max(1, d.gpus / d.plan.expert.ep);
      d.workload.global_batch = std::int64_t{4} * d.plan.attention.dp * d.plan.micro_batch;
      const std::set<std::string> implied{
          "cluster.name",  "workload.routing",          "workload.pad_to_capacity",
          "plan.schedule", "plan.overlap.param_gather", "plan.sequence_parallel"};
      expect_round_trip(Target::deepspeed, d, implied, count);
    }
  }
  EXPECT_GT(count, 30);
}

}  // namespace
}  // namespace pleat::interop
