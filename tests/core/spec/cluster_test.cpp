// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/spec/cluster.hpp"

#include <gtest/gtest.h>

#include "core/diagnostics.hpp"
#include "core/json/parse.hpp"
#include "core/json/text_file.hpp"
#include "core/spec/catalog.hpp"

namespace pleat {
namespace {

TEST(Cluster, ShippedValues) {
  const ClusterSpec gb300 = load_cluster("gb300-nvl72");
  EXPECT_EQ(gb300.gpus_per_node, 4);
  ASSERT_EQ(gb300.tiers.size(), 2U);
  EXPECT_EQ(gb300.tiers[0].size, 72);
  EXPECT_EQ(gb300.tiers[0].bandwidth, BytesPerSecond(900e9));
  EXPECT_EQ(gb300.tiers[1].bandwidth, BytesPerSecond(100e9));
  EXPECT_EQ(gb300.gpu.memory, Bytes(277.5 * (1 << 30)));
  EXPECT_EQ(gb300.shared_cores, 0);
  EXPECT_EQ(gb300.max_gpus, 0);

  const ClusterSpec localhost = load_cluster("localhost");
  EXPECT_EQ(localhost.shared_cores, 2);
  EXPECT_EQ(localhost.tiers.back().name, "memory");
  EXPECT_EQ(localhost.gpu.peak_bf16, FlopsPerSecond(0));
}

TEST(Cluster, PeakByType) {
  const GpuSpec gpu = load_gpu("gb200-nvl72");
  EXPECT_EQ(gpu.peak(DType::fp32), FlopsPerSecond(80e12));
  EXPECT_EQ(gpu.peak(DType::bf16), FlopsPerSecond(2500e12));
  EXPECT_EQ(gpu.peak(DType::fp8), FlopsPerSecond(5e15));
  EXPECT_EQ(gpu.peak(DType::mxfp8), FlopsPerSecond(5e15));
  EXPECT_EQ(gpu.peak(DType::nvfp4), FlopsPerSecond(10e15));
  EXPECT_EQ(gpu.peak(DType::i32), FlopsPerSecond(0));
}

TEST(Cluster, InlinedGpuEqualsNamedGpu) {
  const std::string path = config_path(ConfigKind::cluster, "h100-sxm");
  std::string text = read_text_file(path);
  const std::string gpu = read_text_file(config_path(ConfigKind::gpu, "h100-sxm"));
  const std::string reference = "\"gpu\": \"h100-sxm\"";
  text.replace(text.find(reference), reference.size(), "\"gpu\": " + gpu);
  EXPECT_EQ(read_cluster(text, "inlined.json"), load_cluster("h100-sxm"));
}

TEST(Cluster, TiersMustGrowAndEndUnbounded) {
  const std::string text =
      R"({"schema_version": 1, "name": "c", "gpu": "nothing", "gpus_per_node": 8, "tiers": [
{"name": "a", "size": 8, "bandwidth": "1 GB/s", "latency": "1 us"},
{"name": "b", "size": 4, "bandwidth": "1 GB/s", "latency": "1 us"},
{"name": "c", "size": 64, "bandwidth": "1 GB/s", "latency": "1 us"}]})";
  try {
    (void)read_cluster(text, "c.json");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(std::string(error.what()),
              "error: c.json:1:43: gpu: no gpu named \"nothing\"\n  hint: there are: a100-sxm, "
              "ascend-910b, b200, b300, gb200-nvl72, "
              "gb300-nvl72, h100-sxm, h200-sxm, h800-sxm, localhost, or the path of a .json file\n"
              "error: c.json:3:23: tiers[1].size: 4 does not exceed the 8 of the tier inside it\n"
              "error: c.json:4:23: tiers[2].size: 64: the last tier is unbounded\n  hint: write 0");
    EXPECT_EQ(error.exit_code(), ExitCode::bad_file);
  }
}

// Every number and quantity of a shipped file says where it comes from.
void expect_sourced(const JsonValue& value, const std::string& path) {
  for (const JsonValue& item : value.items()) expect_sourced(item, path + "[]");
  for (const JsonMember& m : value.members()) {
    if (m.key == "schema_version" || m.key == "name" || m.key == "gpu" || m.key == "notes")
      continue;
    if (m.value.find("value") != nullptr) {
      EXPECT_GT(m.value.find("source")->as_string()->size(), 5U) << path << "." << m.key;
    } else {
      ASSERT_TRUE(m.value.is_array()) << path << "." << m.key << " has no source";
      expect_sourced(m.value, path + "." + m.key);
    }
  }
}

TEST(Cluster, ShippedFilesNameTheirSources) {
  for (ConfigKind kind : {ConfigKind::gpu, ConfigKind::cluster}) {
    EXPECT_EQ(config_names(kind),
              (std::vector<std::string>{"a100-sxm", "ascend-910b", "b200", "b300", "gb200-nvl72",
                                        "gb300-nvl72", "h100-sxm", "h200-sxm", "h800-sxm",
                                        "localhost"}));
    for (const std::string& name : config_names(kind)) {
      const std::string path = config_path(kind, name);
      expect_sourced(parse_json(read_text_file(path), path), path);
      EXPECT_EQ(kind == ConfigKind::gpu ? load_gpu(name).name : load_cluster(name).name, name);
    }
  }
}

}  // namespace
}  // namespace pleat
