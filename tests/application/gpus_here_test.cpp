// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/doctor/gpus_here.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "application/doctor/machine_checks.hpp"
#include "core/spec/catalog.hpp"

namespace pleat {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

TEST(GpusHere, AsTheDriverTells) {
  const fs::path folder = fs::path(::testing::TempDir()) / "pleat-proc-nvidia";
  fs::remove_all(folder);
  EXPECT_EQ(gpus_here(folder.string()).driver, "");
  EXPECT_THAT(gpus_here(folder.string()).models, ElementsAre());
  write(folder / "version",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Fri Jan 24 20:49:21 UTC 2025\n"
        "GCC version:  gcc version 12.2.0\n");
  for (const char* gpu : {"0000:04:00.0", "0000:23:00.0"}) {
    write(folder / "gpus" / gpu / "information",
          "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 16\nGPU UUID: \t GPU-1\n");
  }
  const GpusHere here = gpus_here(folder.string());
  EXPECT_EQ(here.driver, "570.86.15");
  EXPECT_THAT(here.models, ElementsAre("NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3"));
}

TEST(GpusHere, ShippedNames) {
  const std::vector<std::string> shipped = config_names(ConfigKind::gpu);
  EXPECT_EQ(shipped_gpu("NVIDIA H100 80GB HBM3", shipped), "h100-sxm");
  EXPECT_EQ(shipped_gpu("NVIDIA H200", shipped), "h200-sxm");
  EXPECT_EQ(shipped_gpu("NVIDIA A100-SXM4-80GB", shipped), "a100-sxm");
  EXPECT_EQ(shipped_gpu("NVIDIA B200", shipped), "b200");
  EXPECT_EQ(shipped_gpu("NVIDIA GB200", shipped), "gb200-nvl72");
  EXPECT_EQ(shipped_gpu("NVIDIA H100 PCIe", shipped), "");
  EXPECT_EQ(shipped_gpu("NVIDIA H100 NVL", shipped), "");
  EXPECT_EQ(shipped_gpu("NVIDIA RTX A4000", shipped), "");
  EXPECT_EQ(shipped_gpu("NVIDIA L40S", shipped), "l40s");
  EXPECT_EQ(shipped_gpu("NVIDIA H20", shipped), "h20-sxm");
  EXPECT_EQ(shipped_gpu("NVIDIA RTX PRO 6000 Blackwell Server Edition", shipped), "rtx-pro-6000");
}

MachineCheck found(const std::vector<MachineCheck>& checks, const std::string& name) {
  for (const MachineCheck& c : checks) {
    if (c.name == name) return c;
  }
  ADD_FAILURE() << name;
  return {};
}

TEST(MachineChecks, AGpuNeedsKernelsAndHasAProfile) {
  const std::vector<MachineCheck> none = machine_checks({});
  EXPECT_FALSE(found(none, "CUDA kernels").needed);
  EXPECT_EQ(found(none, "CUDA kernels").mend, "");
  const std::vector<MachineCheck> here = machine_checks({"570.86.15", {"NVIDIA H100 80GB HBM3"}});
  EXPECT_TRUE(found(here, "CUDA kernels").needed);
  EXPECT_THAT(found(here, "GPU").found, HasSubstr("1 x NVIDIA H100 80GB HBM3, driver 570.86.15"));
  const MachineCheck profile = found(here, "profile");
  EXPECT_TRUE(profile.there);
  EXPECT_THAT(profile.found, HasSubstr("cluster h100-sxm: h100-sxm-megatron for megatron"));
  const MachineCheck unknown = found(machine_checks({"570.86.15", {"NVIDIA L4"}}), "profile");
  EXPECT_FALSE(unknown.there);
  EXPECT_THAT(unknown.found, HasSubstr("no cluster that ships has a NVIDIA L4"));
}

TEST(MachineChecks, WellWithoutWhatIsNotNeeded) {
  EXPECT_TRUE(is_well({{.name = "a", .there = true, .needed = true}, {.name = "b"}}));
  EXPECT_FALSE(is_well({{.name = "a", .there = false, .needed = true}}));
}

}  // namespace
}  // namespace pleat
