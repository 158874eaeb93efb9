// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Golden messages for wrong files: each names the field, its place, the value and what is allowed.
#include <gtest/gtest.h>

#include "core/json/text_file.hpp"
#include "core/spec/catalog.hpp"

namespace pleat {
namespace {

template <class Read>
std::string error_of(Read read, ExitCode code = ExitCode::bad_file) {
  try {
    (void)read();
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.exit_code(), code);
    return error.what();
  }
  return "accepted";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

const std::string kCluster = R"({
"schema_version": 1, "name": "c", "gpu": "h100-sxm", "gpus_per_node": 8,
"tiers": [{"name": "nvlink", "size": 8, "bandwidth": "450 GB/s", "latency": "2 us"},
{"name": "rail", "size": 0, "bandwidth": "50 GB/s", "latency": "5 us"}]
})";

std::string cluster_error(const std::string& from, const std::string& to) {
  return error_of([&] { return read_cluster(replaced(kCluster, from, to), "c.json"); });
}

TEST(BadInput, ClusterIsGoodToBeginWith) {
  EXPECT_EQ(read_cluster(kCluster, "c.json").tiers.size(), 2U);
}

TEST(BadInput, Row8NotANumber) {
  EXPECT_EQ(cluster_error("8,\n", "NaN,\n"),
            "error: c.json:2:71: NaN is not a JSON number\n"
            "  hint: write a finite number");
  EXPECT_EQ(
      cluster_error("8,\n", "1e400,\n"),
      "error: c.json:2:71: gpus_per_node: 1e400 is not a JSON number: too large for a double");
}

TEST(BadInput, Row9DuplicateKey) {
  EXPECT_EQ(cluster_error("\"size\": 0", "\"name\": \"x\", \"size\": 0"),
            "error: c.json:4:18: tiers[1].name: duplicate key; first at line 4, column 2\n"
            "  hint: keep one of the two");
}

TEST(BadInput, Row10UnknownField) {
  EXPECT_EQ(cluster_error("\"latency\": \"5 us\"", "\"latencie\": \"5 us\""),
            "error: c.json:4:1: tiers[1].latency: missing\n"
            "error: c.json:4:53: tiers[1].latencie: unknown field; did you mean latency?\n"
            "  hint: known fields: name, size, bandwidth, latency");
}

TEST(BadInput, Row11Bandwidth) {
  const std::string hint =
      "\n  hint: like \"3.35 TB/s\"; units: B/s, kB/s, MB/s, GB/s, TB/s, PB/s, Mbit/s, Gbit/s, "
      "Tbit/s; "
      "range: at least 1 MB/s, at most 1 PB/s";
  EXPECT_EQ(cluster_error("\"50 GB/s\"", "-5"),
            "error: c.json:4:42: tiers[1].bandwidth: must be a string with a unit, not -5" + hint);
  for (const char* value : {"-5 GB/s", "0 GB/s", "1e30 GB/s"}) {
    EXPECT_EQ(cluster_error("\"50 GB/s\"", std::string("\"") + value + "\""),
              std::string("error: c.json:4:42: tiers[1].bandwidth: \"") + value +
                  "\" is out of range: at least 1 MB/s, at most 1 PB/s" + hint);
  }
}

TEST(BadInput, Row11Efficiency) {
  const std::string text = write_profile(datasheet_profile("c", 1, Runtime::megatron));
  EXPECT_EQ(error_of([&] { return read_profile(replaced(text, "0.7", "1.7"), "p.json"); }),
            "error: p.json:10:25: kernels.gemm.max_efficiency: 1.7 is out of range\n"
            "  hint: allowed: at least 0.0001, at most 1");
  EXPECT_EQ(error_of([&] { return read_profile(replaced(text, "0.75", "0"), "p.json"); }),
            "error: p.json:148:23: collectives[0].all_gather.efficiency: 0 is out of range\n"
            "  hint: allowed: at least 0.0001, at most 1");
}

std::string model_error(const std::string& name, const std::string& from, const std::string& to) {
  const std::string text = read_text_file(config_path(ConfigKind::model, name));
  return error_of([&] { return read_hf_config(replaced(text, from, to), "config.json", "m"); });
}

TEST(BadInput, Row14NoExperts) {
  EXPECT_EQ(
      model_error("qwen3-30b-a3b", "  \"num_experts\": 128,\n", ""),
      "error: config.json:1:1: num_experts: missing (experts; without them the model is dense, of "
      "another family)\n  hint: an integer from 1 to 65536; also read as num_local_experts, "
      "n_routed_experts, moe_num_experts");
}

TEST(BadInput, Row15UnknownFamily) {
  const std::string message =
      model_error("qwen3-30b-a3b", "\"model_type\": \"qwen3_moe\"",
                  "\"model_type\": \"qwen4_moe\", \"expert_stride\": 2, \"tower_width\": 64");
  EXPECT_EQ(message.find("error: config.json:18:17: model_type: unknown family \"qwen4_moe\"; "
                         "nearest is qwen3_moe, but its fields have no place for expert_stride, "
                         "tower_width\n"),
            0U)
      << message;
  EXPECT_NE(message.find("hint: known families: deepseek_v3, "), std::string::npos) << message;
}

TEST(BadInput, NoFamilyAndNoGpu) {
  const std::string missing =
      "missing (the model's family)\n  hint: like \"llama\" or \"qwen3_moe\"";
  EXPECT_EQ(error_of([] { return read_hf_config("{}", "config.json", "m"); }),
            "error: config.json:1:1: model_type: " + missing);
  EXPECT_EQ(error_of([] { return read_hf_config(R"({"model_type": null})", "config.json", "m"); }),
            "error: config.json:1:16: model_type: " + missing);
  EXPECT_EQ(error_of([] { return read_hf_config("null", "config.json", "m"); }),
            "error: config.json:1:1: must be an object, not null");
  const std::string message = cluster_error("h100-sxm", "");
  EXPECT_EQ(message.find("error: c.json:2:42: gpu: no gpu named \"\"\n"), 0U) << message;
}

TEST(BadInput, Row16StringForANumber) {
  EXPECT_EQ(model_error("qwen3-30b-a3b", "\"hidden_size\": 2048", "\"hidden_size\": \"2048\""),
            "error: config.json:12:18: hidden_size: must be an integer, not the string \"2048\"\n"
            "  hint: allowed: from 1 to 1048576");
  const std::string nested =
      R"({"text_config": {"model_type": "llama", "num_hidden_layers": 2, "hidden_size": "64",
"intermediate_size": 128, "num_attention_heads": 4, "head_dim": 16, "vocab_size": 100}})";
  EXPECT_EQ(error_of([&] { return read_hf_config(nested, "config.json", "m"); }),
            "error: config.json:1:80: text_config.hidden_size: must be an integer, not the string "
            "\"64\"\n"
            "  hint: allowed: from 1 to 1048576");
}

TEST(BadInput, Row24OutOfRangeAllAtOnce) {
  std::string text = read_text_file(config_path(ConfigKind::model, "mixtral-8x7b"));
  text = replaced(text, "\"hidden_size\": 4096", "\"hidden_size\": 1000000000000000000");
  text = replaced(text, "\"num_hidden_layers\": 32", "\"num_hidden_layers\": 0");
  text = replaced(text, "\"num_experts_per_tok\": 2", "\"num_experts_per_tok\": 8");
  text = replaced(text, "\"num_local_experts\": 8", "\"num_local_experts\": 4");
  EXPECT_EQ(error_of([&] { return read_hf_config(text, "config.json", "m"); }),
            "error: config.json:16:26: num_hidden_layers: 0 is out of range\n"
            "  hint: allowed: from 1 to 10000\n"
            "error: config.json:9:20: hidden_size: 1000000000000000000 is out of range\n"
            "  hint: allowed: from 1 to 1048576\n"
            "error: config.json:15:28: num_experts_per_tok: top-k 8 > 4 experts\n"
            "  hint: allowed: from 1 to 4");
}

TEST(BadInput, SizesThatMultiplyTooLarge) {
  const std::string message = error_of([] {
    return read_hf_config(
        R"({"model_type": "mixtral", "num_hidden_layers": 10000, "hidden_size": 1048576,
"intermediate_size": 16777216, "num_attention_heads": 65536, "head_dim": 65536,
"vocab_size": 16777216, "num_local_experts": 65536, "num_experts_per_tok": 65536})",
        "config.json", "m");
  });
  EXPECT_EQ(message.find("error: config.json:1:1: about 3.5e+22 parameters"), 0U) << message;
}

}  // namespace
}  // namespace pleat
