// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/spec/cluster.hpp"

#include <gtest/gtest.h>

#include "core/diagnostics.hpp"
#include "core/json/parse.hpp"
#include "core/json/text_file.hpp"
#include "core/spec/catalog.hpp"
#include "core/spec/profile.hpp"

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
              "gb300-nvl72, h100-sxm, h20-sxm, h200-sxm, h800-sxm, l40s, localhost, mi300x, "
              "mi325x, mi355x, rtx-pro-6000, or the path of a .json file\n"
              "error: c.json:3:23: tiers[1].size: 4 does not exceed the 8 of the tier inside it\n"
              "error: c.json:4:23: tiers[2].size: 64: the last tier is unbounded\n  hint: write 0");
    EXPECT_EQ(error.exit_code(), ExitCode::bad_file);
  }
}

TEST(Cluster, LibrariesThatAGpuHasNot) {
  const ClusterSpec amd = load_cluster("mi300x");
  EXPECT_TRUE(amd.lacks(Software::deepep));
  EXPECT_TRUE(amd.lacks(Software::mxfp8));
  EXPECT_FALSE(amd.lacks(Software::fp8));
  EXPECT_EQ(amd.fact(Software::fp8), nullptr);
  EXPECT_TRUE(load_cluster("rtx-pro-6000").lacks(Software::mxfp8));
  EXPECT_FALSE(load_cluster("mi355x").lacks(Software::mxfp8));
  for (const char* nvlink : {"h100-sxm", "h20-sxm", "gb300-nvl72"}) {
    EXPECT_FALSE(load_cluster(nvlink).lacks(Software::deepep)) << nvlink;
  }
}

std::string with_software(const std::string& gpu, const std::string& cluster) {
  return R"({"schema_version": 1, "name": "c", "gpu": {"schema_version": 1, "name": "g",
"peak_fp32": "1 TFLOP/s", "peak_bf16": "10 TFLOP/s", "memory": "1 GB",
"memory_bandwidth": "1 GB/s", "host_link": "1 GB/s", "tdp": "1 W")" +
         gpu + R"(}, "gpus_per_node": 8, "tiers": [
{"name": "a", "size": 0, "bandwidth": "1 GB/s", "latency": "1 us"}])" +
         cluster + "}";
}

TEST(Cluster, TheClustersSoftwareGoesBeforeItsGpus) {
  const std::string none = R"(, "software": {"deepep": {"value": false, "source": "not here"}})";
  const ClusterSpec gpu = read_cluster(with_software(none, ""), "c.json");
  ASSERT_TRUE(gpu.lacks(Software::deepep));
  EXPECT_EQ(gpu.fact(Software::deepep)->source, "not here");
  const ClusterSpec ours =
      read_cluster(with_software(none, R"(, "software": {"deepep": true})"), "c.json");
  EXPECT_FALSE(ours.lacks(Software::deepep));
}

TEST(Cluster, SoftwareThatNobodyKnowsAndRatesAboveThePeak) {
  try {
    (void)read_cluster(with_software(R"(, "reached_bf16": "11 TFLOP/s", "datasheet_band": 0)",
                                     R"(, "software": {"depep": false})"),
                       "c.json");
    FAIL();
  } catch (const ConfigError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("gpu.reached_bf16: is above the peak of its format"), std::string::npos)
        << text;
    EXPECT_NE(text.find("gpu.datasheet_band"), std::string::npos) << text;
    EXPECT_NE(text.find("software.depep: unknown field"), std::string::npos) << text;
  }
}

TEST(DatasheetProfile, TakesRatesThatProductsWereSeenToReachAndTheGpusBand) {
  const ClusterSpec amd = load_cluster("mi300x");
  const Profile p = datasheet_profile(amd, Runtime::megatron);
  const double most = p.kernel(KernelClass::gemm).max_efficiency;
  EXPECT_NEAR(most * p.sustained_clock.gemm_bf16, 708.0 / 1307, 1e-9);
  EXPECT_NEAR(most * p.sustained_clock.gemm_fp8, 1273.0 / 2615, 1e-9);
  EXPECT_EQ(p.relative_band, 0.6);
  const ClusterSpec plain = load_cluster("l40s");
  EXPECT_EQ(datasheet_profile(plain, Runtime::megatron),
            datasheet_profile("l40s", 2, Runtime::megatron));
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
      ASSERT_TRUE(m.value.is_array() || m.key == "software")
          << path << "." << m.key << " has no source";
      expect_sourced(m.value, path + "." + m.key);
    }
  }
}

TEST(Cluster, ShippedFilesNameTheirSources) {
  for (ConfigKind kind : {ConfigKind::gpu, ConfigKind::cluster}) {
    EXPECT_EQ(config_names(kind),
              (std::vector<std::string>{"a100-sxm", "ascend-910b", "b200", "b300", "gb200-nvl72",
                                        "gb300-nvl72", "h100-sxm", "h20-sxm", "h200-sxm",
                                        "h800-sxm", "l40s", "localhost", "mi300x", "mi325x",
                                        "mi355x", "rtx-pro-6000"}));
    for (const std::string& name : config_names(kind)) {
      const std::string path = config_path(kind, name);
      expect_sourced(parse_json(read_text_file(path), path), path);
      EXPECT_EQ(kind == ConfigKind::gpu ? load_gpu(name).name : load_cluster(name).name, name);
    }
  }
}

}  // namespace
}  // namespace pleat
