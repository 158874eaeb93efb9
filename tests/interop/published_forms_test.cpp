// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Forms that published scripts of other versions and of forks have, in small jobs of ours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/diagnostics.hpp"
#include "interop/judge_flags.hpp"
#include "interop/megatron_command.hpp"
#include "interop/megatron_import.hpp"
#include "interop/shell_script.hpp"

namespace pleat::interop_test {
namespace {

using namespace interop;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

const FlagTable& todays_flags() {
  static const FlagTable table = load_flag_table();
  return table;
}

const char* const kSmall =
    " --num-layers 16 --hidden-size 512 --num-attention-heads 8 --seq-length 1024"
    " --micro-batch-size 1 --global-batch-size 64 --vocab-size 32000 --bf16 ";

TrainingCommand published(const std::vector<NamedText>& files,
                          const std::map<std::string, std::string>& variables = {}) {
  return find_command(files, variables, 0, todays_flags());
}

struct Published {
  ImportedRun run;
  std::vector<std::string> unpriced;
};

// Throws for what is refused.
Published imported(const TrainingCommand& c) {
  const ReadArguments read = read_arguments(c.words, todays_flags());
  Published out{import_arguments(read.values,
                                 ImportChoices{.gpus = c.gpus, .vocab = 0, .model = {}}, "run.sh"),
                {}};
  Diagnostics problems;
  out.unpriced = judge_unread(read, out.run.asked, todays_flags(),
                              load_unread(kUnreadMegatronFlags), "run.sh", problems);
  problems.throw_if_errors();
  return out;
}

Published of_flags(const std::string& flags, int gpus = 8) {
  return imported(published({{"run.sh", "torchrun --nproc_per_node " + std::to_string(gpus) +
                                            " pretrain_gpt.py" + kSmall + flags + "\n"}}));
}

TEST(PublishedForms, AForThatCountsIsFollowed) {
  const std::string script =
      "P='*-'\nfor ((layer=1; layer<8; layer++)); do\n  P+='*E'\ndone\nN=0\n"
      "for (( i = 10; i > 0; i -= 4 )); do N=$((N + i)); done\nfor ((;x<3;)); do N=7; done\n"
      "torchrun --nproc_per_node 8 pretrain_gpt.py --bf16 --swiglu --hybrid-layer-pattern \"$P\" "
      "--seed $N\n";
  const TrainingCommand c = published({{"run.sh", script}});
  EXPECT_THAT(c.words, AllOf(Contains("*-*E*E*E*E*E*E*E"), Contains("18")));
}

// Its condition never holds, whatever was meant.
TEST(PublishedForms, ABracketWithoutABlankIsNoTest) {
  const TrainingCommand c =
      published({{"run.sh",
                  "A=1\nB=()\nif [$A = 1]; then B+=(--swiglu); fi\nif [ $A = 1 ]; then "
                  "B+=(--fp16); fi\ntorchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 2 "
                  "--hidden-size 8 ${B[@]}\n"}});
  EXPECT_THAT(c.words, AllOf(Contains("--fp16"), testing::Not(Contains("--swiglu"))));
}

TEST(PublishedForms, AForWithoutAnEndIsRefused) {
  EXPECT_THROW((void)follow_script("for ((i=0; i<1; i+=0)); do A=1; done\n", {}, "run.sh"),
               ConfigError);
  EXPECT_THROW((void)follow_script("for ((i=0; i<N; i++)); do A=1; done\n", {}, "run.sh"),
               ConfigError);
}

TEST(PublishedForms, WhatALoopOfUnknownLengthSetsIsNotKnown) {
  const std::string script =
      "TP=2\nPP=4\nwhile [[ $# -gt 0 ]]; do case $1 in --tp) TP=$2;; esac; shift; done\n"
      "until [ -n \"$HOSTS\" ]; do HOSTS=$(cat hosts); PP=$((PP + 1)); done\n"
      "torchrun --nproc_per_node 8 pretrain_gpt.py" +
      std::string(kSmall) + "--tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP\n";
  const auto known = [&](const std::map<std::string, std::string>& variables) {
    const TrainingCommand c = published({{"run.sh", script}}, variables);
    const ReadArguments read = read_arguments(c.words, todays_flags());
    return std::pair{!read.bad.contains("tensor_model_parallel_size"),
                     !read.bad.contains("pipeline_model_parallel_size")};
  };
  EXPECT_EQ(known({{"HOSTS", "a"}}), std::pair(true, true));
  EXPECT_EQ(known({}), std::pair(true, false));
  EXPECT_EQ(known({{"HOSTS", "a"}, {"1", "--tp"}, {"2", "4"}}), std::pair(false, true));
  EXPECT_EQ(known({{"PP", "8"}}), std::pair(true, true));
}

TEST(PublishedForms, TorchrunStartsAModule) {
  const TrainingCommand c = published(
      {{"run.sh", std::string("torchrun --nproc_per_node 4 --nnodes 2 --module pretrain_hybrid") +
                      kSmall + "\n"}});
  EXPECT_EQ(c.gpus, 8);
  EXPECT_EQ(c.words.front(), "--num-layers");
}

TEST(PublishedForms, ATaskOfANodeHasAllItsGpus) {
  const std::string body = std::string("srun bash -c 'python pretrain_gpt.py ") + kSmall + "'\n";
  const auto gpus = [&](const std::string& head) {
    return published({{"run.sh", head + body}}).gpus;
  };
  EXPECT_EQ(gpus("#SBATCH --nodes=8\n#SBATCH --ntasks-per-node=1\n#SBATCH --gres=gpu:8\n"), 64);
  EXPECT_EQ(gpus("#SBATCH --nodes=2 --ntasks-per-node=1 --gres=gpu:h100:4\n"), 8);
  EXPECT_EQ(gpus("#SBATCH --ntasks-per-node=1 --gpus-per-node=4 --nodes=2\n"), 8);
  EXPECT_EQ(gpus("#SBATCH --nodes=2 --ntasks-per-node=8\n"), 16);
}

TEST(PublishedForms, ASubmittedScriptIsFollowedWithTheOptionsOfSbatch) {
  const std::string main = "TP=2\nexport OPTIONS=\"--tensor-model-parallel-size ${TP}" +
                           std::string(kSmall) + "\"\nsbatch -p x --nodes=4 job.sh\nexit 0\n";
  const std::string job =
      "#SBATCH --ntasks-per-node=8\nCMD=\"python -u ${DIR}/pretrain_gpt.py ${OPTIONS}\"\n"
      "srun -l --output=x sh -c \"${CMD}\"\n";
  const TrainingCommand c = published({{"run.sh", main}, {"job.sh", job}});
  EXPECT_EQ(c.gpus, 32);
  EXPECT_EQ(imported(c).run.document.plan.attention.tp, 2);
}

TEST(PublishedForms, CheckpointingOf2021IsFullRecompute) {
  const Plan plain = of_flags("--checkpoint-activations").run.document.plan;
  EXPECT_TRUE(plain.recompute_full);
  EXPECT_EQ(plain.recompute_unit, 1);
  const Published block =
      of_flags("--activations-checkpoint-method block --activations-checkpoint-num-layers 4");
  EXPECT_TRUE(block.run.document.plan.recompute_full);
  EXPECT_EQ(block.run.document.plan.recompute_layers, 4);
  EXPECT_THAT(block.run.assumed, Contains(HasSubstr("full recompute")));
  const Plan todays =
      of_flags("--checkpoint-activations --recompute-granularity selective").run.document.plan;
  EXPECT_FALSE(todays.recompute_full);
}

TEST(PublishedForms, EarlierNamesMeanTheSame) {
  const std::string moe = "--num-experts 8 --moe-ffn-hidden-size 256 --moe-router-topk 2 ";
  const Published run = of_flags(
      moe +
      "--use-custom-fsdp --data-parallel-sharding-strategy optim_grads_params "
      "--use-distributed-optimizer --expert-model-parallel-size 2 "
      "--moe-token-dispatcher-type alltoall --combined-1f1b --combined-1f1b-recipe ep_a2a");
  EXPECT_EQ(run.run.document.plan.sharding, Sharding::zero3);
  EXPECT_TRUE(run.run.document.plan.overlap.expert_parallel);
  EXPECT_THAT(run.unpriced, testing::IsEmpty());
}

TEST(PublishedForms, WordsOfForksDescribeTheModel) {
  const Published run = of_flags(
      "--multi-head-latent-attention --qk-rope-head-dim 32 --qk-nope-head-dim 96 --v-head-dim 96 "
      "--kv-lora-rank 128 --num-experts 8 --moe-router-topk 2 --moe-intermediate-size 256 "
      "--first-k-dense-replace 1 --moe-layer-freq 1 --n-shared-experts 2 --num-mtp-predictor 1 "
      "--routed-scaling-factor 2.5 --use-multi-token-prediction");
  const ModelSpec& m = run.run.document.model;
  EXPECT_EQ(m.attention.kind, AttentionKind::mla);
  EXPECT_EQ(m.attention.qk_nope_head_dim, 96);
  EXPECT_EQ(m.attention.qk_rope_head_dim, 32);
  EXPECT_EQ(m.mtp_layers, 1);
  ASSERT_TRUE(m.moe);
  EXPECT_EQ(m.moe->ffn, 256);
  EXPECT_EQ(m.moe->shared_ffn, 512);
  EXPECT_EQ(m.moe->scaling_factor, 2.5);
  EXPECT_FALSE(m.moe_layer.at(0));
  EXPECT_TRUE(m.moe_layer.at(1));
  EXPECT_THAT(run.unpriced, testing::IsEmpty());
}

TEST(PublishedForms, DeepSpeedsEngineIsRefused) {
  EXPECT_THROW((void)of_flags("--deepspeed --deepspeed_config=ds.json --zero-stage=3"),
               ConfigError);
}

TEST(PublishedForms, ALayoutMayBeQuotedTwice) {
  const std::string yaml =
      "MODEL_ARGS:\n  --num-layers: 15\n  --hidden-size: 512\n  --num-attention-heads: 8\n"
      "  --seq-length: 1024\n  --micro-batch-size: 1\n  --global-batch-size: 64\n"
      "  --pipeline-model-parallel-size: 2\n  --tokenizer-model: /data/nemotron_2_256k.model\n"
      "  --pipeline-model-parallel-layout: Et*3\\\\|\\\\(tt\\\\|\\\\)*6L # Et*3|(tt|)*6L\n";
  TrainingCommand c = published({{"model_config.yaml", yaml}});
  c.gpus = 8;
  const PlanDocument d = imported(c).run.document;
  EXPECT_EQ(d.plan.layout, "Et*3|(tt|)*6L");
  EXPECT_EQ(d.plan.vpp, 4);
  EXPECT_EQ(d.model.vocab, 256000);
}

}  // namespace
}  // namespace pleat::interop_test
