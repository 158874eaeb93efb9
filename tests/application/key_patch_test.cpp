// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Keys changed in files as they stand.
#include "application/improve/key_patch.hpp"

#include <gtest/gtest.h>

namespace pleat {
namespace {

TEST(KeyPatch, Toml) {
  const std::string text =
      "# a job\n[training]\nseq_len = 4096  # tokens\nlocal_batch_size=1\n\n[parallelism]\n"
      "tensor_parallel_degree = 8\n";
  EXPECT_EQ(change_keys(text, KeySyntax::toml,
                        {{"training.local_batch_size", "2"},
                         {"training.seq_len", "8192"},
                         {"parallelism.tensor_parallel_degree", std::nullopt},
                         {"parallelism.fsdp_reshard_after_forward", "never"},
                         {"activation_checkpoint.mode", "full"}}),
            "# a job\n[training]\nseq_len = 8192  # tokens\nlocal_batch_size=2\n\n[parallelism]\n"
            "fsdp_reshard_after_forward = \"never\"\n\n[activation_checkpoint]\nmode = \"full\"\n");
}

TEST(KeyPatch, Yaml) {
  const std::string text =
      "trainer:\n  devices: 8  # a node\n  strategy:\n    sequence_parallel: true\n"
      "    ddp:\n      overlap_grad_reduce: false\ndata: {seq_length: 8}\n";
  EXPECT_EQ(change_keys(text, KeySyntax::yaml,
                        {{"trainer.devices", "4"},
                         {"trainer.strategy.ddp.overlap_grad_reduce", "true"},
                         {"trainer.strategy.sequence_parallel", std::nullopt},
                         {"trainer.strategy.tensor_model_parallel_size", "2"},
                         {"data", "9"}}),
            "trainer:\n  devices: 4  # a node\n  strategy:\n    tensor_model_parallel_size: 2\n"
            "    sequence_parallel: null\n    ddp:\n      overlap_grad_reduce: true\n"
            "data: {seq_length: 8}\n");
}

TEST(KeyPatch, Json) {
  const std::string text =
      "{\n  \"a\": 1,\n  \"zero\": {\"stage\": 3, \"overlap\": true},\n  \"last\": \"x, y\"\n}\n";
  EXPECT_EQ(change_keys(text, KeySyntax::json,
                        {{"zero.stage", "1"}, {"last", "\"z\""}, {"tp.size", "2"}}),
            "{\n  \"tp\": {\"size\": 2},\n  \"a\": 1,\n  \"zero\": {\"stage\": 1, \"overlap\": "
            "true},\n  \"last\": \"z\"\n}\n");
  EXPECT_EQ(change_keys(text, KeySyntax::json,
                        {{"a", std::nullopt}, {"zero.overlap", std::nullopt}, {"b", std::nullopt}}),
            "{\n  \"zero\": {\"stage\": 3},\n  \"last\": \"x, y\"\n}\n");
  EXPECT_EQ(change_keys("{}", KeySyntax::json, {{"a.b", "x"}}), "{\"a\": {\"b\": \"x\"}}");
}

}  // namespace
}  // namespace pleat
