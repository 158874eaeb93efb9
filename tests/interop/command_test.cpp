// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Jobs of Megatron-LM in the forms in which people publish them: which arguments they mean. The
// forms are those of NVIDIA/Megatron-LM (examples, tests/functional_tests, 2026) and of
// yanring/Megatron-MoE-ModelZoo (sbatch_benchmarking.sh); the texts are ours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/diagnostics.hpp"
#include "core/plan/layout.hpp"
#include "core/spec/catalog.hpp"
#include "interop/bridge_import.hpp"
#include "interop/judge_flags.hpp"
#include "interop/megatron_command.hpp"
#include "interop/megatron_import.hpp"
#include "interop/megatron_layout.hpp"
#include "interop/megatron_vocabulary.hpp"
#include "interop/yaml_text.hpp"

namespace pleat::interop_test {
namespace {

using namespace interop;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const FlagTable& flag_table() {
  static const FlagTable table = load_flag_table();
  return table;
}

const char* const kExample =
    "#!/bin/bash\n"
    "GPUS_PER_NODE=8\nNUM_NODES=${NUM_NODES:-2}\nTOKENIZER=$3/tokenizer.model\n"
    "DISTRIBUTED_ARGS=(--nproc_per_node $GPUS_PER_NODE --nnodes $NUM_NODES --node_rank $RANK)\n"
    "MODEL=(\n  --num-layers 32 # as published\n  --hidden-size 4096\n  --num-attention-heads 32\n"
    "  --seq-length 4096\n  --max-position-embeddings 4096\n)\n"
    "ARGS=(--micro-batch-size 1 --global-batch-size 256 --bf16 --lr $LR)\n"
    "if [ -n \"${WANDB_API_KEY}\" ]; then ARGS+=(--wandb-project ${P:-x}); fi\n"
    "torchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py ${MODEL[@]} ${ARGS[@]} \\\n"
    "  --tensor-model-parallel-size ${TP:-2} --tokenizer-type Llama2Tokenizer \\\n"
    "  --tokenizer-model $TOKENIZER --use-distributed-optimizer\n";

TrainingCommand command_of(const std::vector<NamedText>& files,
                           const std::map<std::string, std::string>& variables = {},
                           int which = 0) {
  return find_command(files, variables, which, flag_table());
}

ImportedRun run_of(const TrainingCommand& c, ImportChoices choices = {}) {
  if (choices.gpus == 0) choices.gpus = c.gpus;
  Arguments values = read_arguments(c.words, flag_table()).values;
  return import_arguments(values, choices, "run.sh");
}

TEST(Command, OfAnExampleScriptWithArraysAndTorchrun) {
  const TrainingCommand c = command_of({{"train.sh", kExample}});
  EXPECT_EQ(c.gpus, 16);
  EXPECT_EQ(c.words.front(), "--num-layers");
  const ImportedRun run = run_of(c);
  EXPECT_EQ(run.document.plan.attention.tp, 2);
  EXPECT_EQ(run.document.plan.attention.dp, 8);
  EXPECT_EQ(run.document.model.vocab, 32000);
  EXPECT_THAT(run.assumed, Contains("vocab_size 32000, of tokenizer_type Llama2Tokenizer"));
  const TrainingCommand other =
      command_of({{"train.sh", kExample}}, {{"TP", "4"}, {"NUM_NODES", "4"}});
  EXPECT_EQ(run_of(other).document.plan.attention.dp, 8);
  EXPECT_EQ(other.gpus, 32);
}

TEST(Command, OfAYamlFileOfArguments) {
  const std::string text =
      "ENV_VARS:\n  NCCL_ALGO: Ring\nMODEL_ARGS:\n  --num-layers: 12\n  --hidden-size: 512\n"
      "  --num-attention-heads: 8\n  --seq-length: 1024\n  --micro-batch-size: ${MBS}\n"
      "  --global-batch-size: 32\n  --bf16: true\n  --swiglu: false\n"
      "  --vocab-file: ${DATA}/bpe/vocab.json\n  --merge-file: ${DATA}/bpe/merges.txt\n"
      "  --num-experts: 8\n  --moe-layer-freq: ([0]*4+[1]*8)\n"
      "  --recompute-granularity: selective\n  --recompute-modules: \"[core_attn moe_act]\"\n"
      "  --step-batch-size-schedule: \"0:64 1B:128\"\nTEST_TYPE: regular\n";
  const TrainingCommand c = command_of({{"model_config.yaml", text}}, {{"MBS", "4"}});
  const ImportedRun run = run_of(c, {.gpus = 8, .vocab = 0, .model = {}});
  EXPECT_EQ(run.document.plan.micro_batch, 4);
  EXPECT_EQ(run.document.model.vocab, 50257);
  EXPECT_FALSE(run.document.model.gated_mlp);
  EXPECT_EQ(run.document.plan.recompute, (std::set<Module>{Module::core_attn, Module::moe_act}));
  EXPECT_EQ(run.document.workload.global_batch, 128);
  EXPECT_EQ(std::ranges::count(run.document.model.moe_layer, true), 8);
  EXPECT_THROW(static_cast<void>(command_of({{"a.yaml", "A: 1\n"}})), ConfigError);
  // As Megatron-LM's examples/moe_recipes have them, with the container before.
  EXPECT_THAT(command_of({{"r.yaml",
                           "DEPENDENCIES:\n  dockerfile: |\n    FROM x\n\n    RUN a: b\n  n: 1\n"
                           "ARGS:\n  num_layers: 94\n  swiglu: true\n  qk_layernorm: false\n"}})
                  .words,
              ElementsAre("--num-layers", "94", "--swiglu"));
}

// A script names a model and its sizes, another makes the command from the model's YAML file.
TEST(Command, OfSeveralFilesThatReadEachOther) {
  const std::vector<NamedText> files{
      {"run.sh",
       "export MODEL=small\nPR=mxfp8 TP=1 NNODES=4 bash sbatch.sh --moe-deepep-num-sms 24\n"
       "PR=bf16 TP=2 NNODES=8 bash sbatch.sh\n"},
      {"sbatch.sh",
       "source runtime.conf\nARGS=$(yq '.MODEL_ARGS | to_entries' $FILE | tr '\\n' ' ')\n"
       "ARGS=\"${ARGS} $@\"\n"
       "if [[ ! \"${ARGS}\" =~ \"--num-virtual-stages\" ]]; then ARGS=\"$ARGS --use-flash-attn\"; "
       "fi\n"
       "if [[ ${PR} == mxfp8 ]]; then ARGS=\"$ARGS --fp8-recipe mxfp8 --fp8-format e4m3\"; fi\n"
       "export CMD=\"python ${SCRIPT} ${ARGS}\"\nsbatch <<EOF\n#!/bin/bash\n"
       "#SBATCH --nodes=${NNODES}\n#SBATCH --ntasks-per-node=8\n"
       "srun --mpi=pmix -l bash -c \\\\\\${CMD}\nEOF\n"},
      {"runtime.conf",
       "declare -A SIZES=(\n  [small]=\"1 4 8\"\n)\nread_sizes() {\n  local c=(${SIZES[$1]})\n"
       "  export TP=${TP:-${c[0]}} PP=${PP:-${c[1]}} EP=${EP:-${c[2]}} VP=false\n}\n"
       "read_sizes ${MODEL}\n"},
      {"small.yaml",
       "MODEL_ARGS:\n  --tensor-model-parallel-size: ${TP}\n  --pipeline-model-parallel-size: ${PP}"
       "\n  --expert-model-parallel-size: ${EP}\n  --num-layers-per-virtual-pipeline-stage: ${VP}\n"
       "  --num-layers: 30\n  --hidden-size: 1024\n  --num-attention-heads: 16\n"
       "  --seq-length: 4096\n  --micro-batch-size: 1\n  --global-batch-size: 256\n"
       "  --tokenizer-type: HuggingFaceTokenizer\n  --tokenizer-model: Qwen/Qwen3-30B-A3B\n"
       "  --num-experts: 64\n  --bf16: true\n  --sequence-parallel: true\n"
       "  --account-for-embedding-in-pipeline-split: true\n"
       "  --account-for-loss-in-pipeline-split: true\n"}};
  const TrainingCommand last = command_of(files);
  EXPECT_EQ(last.commands, 2);
  EXPECT_EQ(last.gpus, 64);
  const ImportedRun run = run_of(last);
  EXPECT_EQ(run.document.plan.attention.tp, 2);
  EXPECT_EQ(run.document.plan.precision, Precision::bf16);
  EXPECT_EQ(run.document.model.vocab, 151936);
  EXPECT_EQ(run.document.plan.layout, "");  // the even split counts both as layers, too
  const TrainingCommand first = command_of(files, {}, 1);
  EXPECT_EQ(first.gpus, 32);
  EXPECT_EQ(run_of(first).document.plan.precision, Precision::mxfp8);
  EXPECT_THROW(static_cast<void>(command_of(files, {}, 3)), ConfigError);
}

TEST(Command, FilesOfFlagsAloneAreRead) {
  EXPECT_THAT(command_of({{"f", "--num-layers 4 \\\n --hidden-size 8 --bf16"}}).words,
              ElementsAre("--num-layers", "4", "--hidden-size", "8", "--bf16"));
}

TEST(Unread, EveryFlagHasOneFate) {
  const UnreadTable effects = load_unread(kUnreadMegatronFlags);
  EXPECT_GT(effects.size(), 600u);
  const ReadArguments read =
      read_arguments({"--log-interval", "1", "--deterministic-mode", "--perform-rl-step",
                      "--use-torch-fsdp2", "--tensor-model-parallel-size", "\x01TP\x02", "--lr",
                      "\x01LR\x02", "--no-such-flag", "--use-legacy-models"},
                     flag_table());
  Diagnostics problems;
  const auto lines = judge_unread(read, {"tensor_model_parallel_size", "use_torch_fsdp2"},
                                  flag_table(), effects, "run.sh", problems);
  EXPECT_THAT(lines,
              ElementsAre(HasSubstr("--deterministic-mode: "), "--no-such-flag: unknown flag"));
  ASSERT_EQ(problems.list().size(), 2u);
  EXPECT_THAT(to_text(problems.list()[0]), HasSubstr("--perform-rl-step: cannot be predicted"));
  EXPECT_THAT(to_text(problems.list()[1]),
              HasSubstr("--tensor-model-parallel-size: $TP is not set"));
}

// Flags of other versions are said, but for those that a reader knows.
TEST(Unread, FlagsOfOtherVersions) {
  const ReadArguments read =
      read_arguments({"--offload-optimizer-states", "--hybrid-mlp-ratio", "0.5"}, flag_table());
  EXPECT_THAT(read.values.at("offload_optimizer_states"), ElementsAre("True"));
  Diagnostics problems;
  EXPECT_THAT(judge_unread(read, {"offload_optimizer_states"}, flag_table(),
                           load_unread(kUnreadMegatronFlags), "run.sh", problems),
              IsEmpty());
  EXPECT_TRUE(problems.has_errors());
}

TEST(Unread, OfALogSwitchesThatAreOnCount) {
  Diagnostics problems;
  const Arguments printed{{"deterministic_mode", {"True"}},
                          {"gradient_accumulation_fusion", {"False"}},
                          {"perform_rl_step", {"False"}},
                          {"qk_clip", {"False"}},
                          {"flash_attention_version", {"3"}}};
  EXPECT_THAT(judge_unread_log(printed, {}, flag_table(), load_unread(kUnreadMegatronFlags), "log",
                               problems),
              ElementsAre(HasSubstr("--deterministic-mode"),
                          HasSubstr("--no-gradient-accumulation-fusion")));
  EXPECT_FALSE(problems.has_errors());
}

// Arguments of a dense model on 8 GPUs, with others.
Arguments dense(const Arguments& more) {
  Arguments a{{"num_layers", {"12"}},
              {"hidden_size", {"512"}},
              {"num_attention_heads", {"8"}},
              {"seq_length", {"1024"}},
              {"micro_batch_size", {"1"}},
              {"global_batch_size", {"32"}},
              {"vocab_size", {"50257"}},
              {"bf16", {"True"}},
              {"pipeline_model_parallel_size", {"4"}}};
  for (const auto& [member, values] : more) a[member] = values;
  return a;
}
Plan plan_of(const Arguments& more) {
  return import_arguments(dense(more), 8, "args").document.plan;
}

TEST(Import, SplitsOfThePipeline) {
  EXPECT_EQ(plan_of({{"decoder_first_pipeline_num_layers", {"2"}},
                     {"decoder_last_pipeline_num_layers", {"2"}}})
                .layout,
            "Ett|(t*4|)*2ttL");
  EXPECT_EQ(plan_of({{"decoder_last_pipeline_num_layers", {"0"}}}).layout, "Et*4|(t*4|)*2L");
  EXPECT_EQ(
      plan_of({{"num_layers", {"11"}}, {"account_for_loss_in_pipeline_split", {"True"}}}).layout,
      "Et*3|(t*3|)*2ttL");
  const Plan both = plan_of({{"num_layers", {"14"}},
                             {"account_for_embedding_in_pipeline_split", {"True"}},
                             {"account_for_loss_in_pipeline_split", {"True"}},
                             {"num_layers_per_virtual_pipeline_stage", {"2"}}});
  EXPECT_EQ(both.vpp, 2);  // of 16 layers
  const auto stages = both.layout.empty() ? even_layout(14, false, 4, 2)
                                          : parse_layout(both.layout, 14, false, 4, 2);
  EXPECT_EQ(stages.front().layers, 1);
  EXPECT_EQ(stages.back().layers, 1);
  EXPECT_THROW(static_cast<void>(plan_of({{"decoder_first_pipeline_num_layers", {"4"}}})),
               ConfigError);
}

TEST(Import, OlderAndOtherWordsForWhatAPlanHas) {
  EXPECT_EQ(plan_of({{"recompute_activations", {"True"}}}).recompute,
            (std::set<Module>{Module::core_attn}));
  EXPECT_EQ(
      plan_of({{"use_torch_fsdp2", {"True"}}, {"pipeline_model_parallel_size", {"1"}}}).sharding,
      Sharding::zero3);
  EXPECT_FALSE(plan_of({{"tp_comm_overlap", {"True"}}}).overlap.tensor_parallel);  // TP 1
  const ImportedRun graph = import_arguments(
      dense({{"cuda_graph_impl", {"transformer_engine"}}, {"cuda_graph_modules", {"mlp"}}}), 8,
      "a");
  EXPECT_EQ(graph.document.plan.cuda_graph, CudaGraph::none);
  EXPECT_THAT(graph.ignored, Contains("cuda_graph_modules mlp"));
  Arguments no_batch = dense({});
  no_batch.erase("global_batch_size");
  EXPECT_EQ(import_arguments(no_batch, 8, "a").document.workload.global_batch, 2);
}

TEST(Import, TheVocabularyIsTheTokenizersOrTheModels) {
  Arguments a = dense({{"tokenizer_model", {"/models/meta-llama/Meta-Llama-3-8B"}}});
  a.erase("vocab_size");
  EXPECT_EQ(import_arguments(a, 8, "a").document.model.vocab, 128256);
  a["tokenizer_model"] = {"/data/ours.model"};
  try {
    static_cast<void>(import_arguments(a, 8, "a"));
    FAIL();
  } catch (const ConfigError& e) {
    EXPECT_THAT(e.what(), HasSubstr("the tokenizer /data/ours.model is not known"));
    EXPECT_THAT(e.what(), HasSubstr("--vocab-size N, or --model NAME"));
  }
  EXPECT_EQ(import_arguments(a, {.gpus = 8, .vocab = 64000, .model = {}}, "a").document.model.vocab,
            64000);
  const ModelSpec llama = load_model("llama3-8b").model;
  const ImportedRun run = import_arguments(a, {.gpus = 8, .vocab = 0, .model = llama}, "a");
  EXPECT_EQ(run.document.model, llama);
  EXPECT_THAT(run.assumed, Contains(HasSubstr("num_layers 32, of ")));
}

// --hybrid-layer-pattern of NVIDIA/Megatron-LM@d98e8a64,
// tests/functional_tests/test_cases/nemotron/nemotron3_super_release_gb200, shortened.
TEST(Import, HybridPatterns) {
  Arguments a = dense({{"hybrid_layer_pattern", {"MEME*E-M/*E/*E"}},
                       {"num_experts", {"8"}},
                       {"mamba_num_heads", {"16"}},
                       {"pipeline_model_parallel_size", {"1"}}});
  a.erase("num_layers");
  const ModelSpec m = import_arguments(a, 8, "a").document.model;
  EXPECT_EQ(m.layers, 8);
  EXPECT_EQ(m.mtp_layers, 2);
  EXPECT_EQ(m.layer_traits[0].mixer, Mixer::mamba2);
  EXPECT_EQ(m.layer_traits[4].mixer, Mixer::attention);
  EXPECT_TRUE(m.moe_layer[1]);
  EXPECT_FALSE(m.moe_layer[6]);
  EXPECT_EQ(m.recurrence->value_heads, 16);
  a["spec"] = {"megatron.core.models.hybrid.hybrid_layer_specs", "hybrid_stack_spec"};
  EXPECT_THAT(import_arguments(a, 8, "a").ignored, IsEmpty());
  a.erase("hybrid_layer_pattern");
  a["num_layers"] = {"8"};
  EXPECT_THROW(static_cast<void>(import_arguments(a, 8, "a")), ConfigError);
  a["hybrid_layer_pattern"] = {"MXM"};
  EXPECT_THROW(static_cast<void>(import_arguments(a, 8, "a")), ConfigError);
}

// The names are megatron-bridge 0.6.2's; the file is ours.
TEST(Import, AConfigurationOfMegatronBridge) {
  const std::string text =
      "_target_: megatron.bridge.training.config.ConfigContainer\n"
      "comm_overlap:\n  tp_comm_overlap: false\n  overlap_grad_reduce: true\n"
      "dataset:\n  seq_length: 4096\n"
      "ddp:\n  bucket_size: null\n  grad_reduce_in_fp32: false\n"
      "  use_distributed_optimizer: true\n"
      "mixed_precision:\n  bf16: true\n  fp8: e4m3\n  fp8_recipe: mxfp8\n"
      "model:\n  _target_: megatron.bridge.models.qwen.qwen_provider.Qwen3MoEModelProvider\n"
      "  activation_func:\n    _call_: false\n    _target_: torch.nn.functional.silu\n"
      "  add_bias_linear: false\n  expert_model_parallel_size: 8\n  ffn_hidden_size: 6144\n"
      "  gated_linear_unit: true\n  hidden_size: 2048\n  kv_channels: 128\n"
      "  layernorm_epsilon: 1.0e-06\n  moe_ffn_hidden_size: 768\n  moe_layer_freq:\n  - 0\n  - 1\n"
      "  - 1\n  - 1\n  moe_router_topk: 8\n  moe_token_dispatcher_type: alltoall\n"
      "  normalization: RMSNorm\n  num_attention_heads: 32\n  num_layers: 4\n"
      "  num_moe_experts: 128\n  num_query_groups: 4\n  pipeline_model_parallel_layout:\n"
      "  - - embedding\n    - decoder\n  - - decoder\n    - decoder\n    - decoder\n    - loss\n"
      "  pipeline_model_parallel_size: 2\n  position_embedding_type: rope\n"
      "  qk_layernorm: true\n  recompute_modules:\n  - core_attn\n  - moe_act\n"
      "  recompute_granularity: selective\n  share_embeddings_and_output_weights: false\n"
      "  vocab_size: 151936\n"
      "optimizer:\n  optimizer: adam\n"
      "train:\n  global_batch_size: 64\n  micro_batch_size: 2\n";
  const PlanDocument d =
      import_arguments(read_bridge_config(read_yaml(text, "c"), "c"), 16, "c").document;
  EXPECT_EQ(d.model.attention.kv_groups, 4);
  EXPECT_TRUE(d.model.gated_mlp);
  EXPECT_FALSE(d.model.tied_embeddings);
  EXPECT_EQ(d.model.moe->experts, 128);
  EXPECT_FALSE(d.model.moe_layer[0]);
  EXPECT_EQ(d.plan.layout, "Et|tttL");
  EXPECT_EQ(d.plan.precision, Precision::mxfp8);
  EXPECT_EQ(d.plan.optimizer.main_grads, DType::bf16);
  EXPECT_EQ(d.plan.recompute, (std::set<Module>{Module::core_attn, Module::moe_act}));
  EXPECT_TRUE(d.plan.overlap.grad_reduce);
  EXPECT_EQ(d.workload.seq_len, 4096);
  EXPECT_EQ(d.plan.attention.dp, 8);
  EXPECT_THROW(static_cast<void>(read_bridge_config(read_yaml("a: 1\n", "c"), "c")), ConfigError);
}

// A recipe before set-up: the tokenizer has the vocabulary, mixed precision the gradients' format.
TEST(Bridge, OfARecipeThatWasNotSetUp) {
  const std::string text =
      "model:\n  num_layers: 8\n  hidden_size: 512\n  num_attention_heads: 8\n"
      "  seq_length: 2048\n  vocab_size: null\n"
      "tokenizer:\n  tokenizer_type: NullTokenizer\n  vocab_size: 32000\n"
      "mixed_precision:\n  bf16: true\n  grad_reduce_in_fp32: false\n"
      "ddp:\n  grad_reduce_in_fp32: true\n  use_distributed_optimizer: true\n"
      "train:\n  global_batch_size: 64\n  micro_batch_size: 2\n";
  const Arguments values = read_bridge_config(read_yaml(text, "c"), "c");
  EXPECT_EQ(values.at("grad_reduce_in_bf16"), std::vector<std::string>{"True"});
  const PlanDocument d = import_arguments(values, 8, "c").document;
  EXPECT_EQ(d.model.vocab, 32000);
  EXPECT_EQ(d.plan.precision, Precision::bf16);
  EXPECT_FALSE(read_bridge_config(read_yaml(text + "peft: null\n", "c"), "c").empty());
  // LoRA
  EXPECT_THROW((void)read_bridge_config(read_yaml(text + "peft:\n  dim: 32\n", "c"), "c"),
               ConfigError);
}

}  // namespace
}  // namespace pleat::interop_test
